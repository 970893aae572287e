"""A released engine asked one question: what it retrieves, and the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.engine import Engine
from graphrag_bench.models.engine_index import EngineIndex
from graphrag_bench.models.engine_replies import EnginePassages
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.tokenizer import Tokenizer
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Answer, Chunk, Context, Piece, Question, Ranked
from methods.original.passages import OTHER, mapped, packed, ranked, whole
from methods.reader import READER, answered, expected_tokens, reader_values

ANSWER = Prompt("methods:vanilla/prompts/answer.j2")
FEWEST_TOKENS = 50
"""The least mean tokens assumed per chunk: enough are asked for to fill the budget."""


def _most(settings: Mapping[str, Any]) -> int:
    return int(settings["max_calls"])


def _once(_: Mapping[str, Any], __: Sizes) -> float:
    return 1.0


def _tokens_of_search(_: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Instructions with examples and the question: a rough guess, as engines differ."""
    return 600.0 + sizes.question, 50.0


def _tokens_of_answer(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """Our template, the question and the context; half of what an answer may take."""
    prompt: Prompt = settings["prompt"]
    said = template_tokens(prompt) + sizes.form + sizes.question + sizes.context
    return said, expected_tokens(settings, sizes)


@operator(
    "original.retrieve",
    calls=_most,
    expected=_once,
    tokens=_tokens_of_search,
    unordered="the engine's own order",
)
def retrieve(
    question: Question,
    *,
    engine: Engine,
    original_index: EngineIndex,
    chunk_table: ChunkTable,
    embedder: Embedder,
    tokenizer: Tokenizer,
    llm: LLM,
    top_k: PositiveInt = 10,
    budget: PositiveInt | None = None,
    max_calls: PositiveInt = 20,
) -> tuple[Ranked[Chunk], Context, EnginePassages]:
    """The chunks that the engine's passages hold, and its context as it sends it.

    In `equal` it is asked for `top_k` passages, or as many as fill the budget at 50 tokens each
    where that is more, and its context is cut to the budget. In `as_released` both are the
    engine's own. Raises EngineFailed where it fails, dies, hangs, or asks a model more than
    `max_calls` times.
    Source: the engine's release, as its lock names it; the mapping to our chunks is ours.
    """
    equal = original_index.told.mode == "equal"
    depth = max(top_k, math.ceil(budget / FEWEST_TOKENS)) if budget else top_k
    found = engine.ask(
        original_index,
        question.text,
        top_k=depth if equal else None,
        budget=budget if equal else None,
        answer=False,
        llm=llm,
        embedder=embedder,
        max_calls=max_calls,
        name=question.id,
    )
    passages = mapped(found.passages, chunk_table, named=equal)
    kept = passages[:depth] if equal else passages
    context = packed(found.context, kept, chunk_table, tokenizer, budget if equal else None)
    n_ours = sum(bool(one.rows) for one in kept)
    return ranked(kept), context, EnginePassages(len(kept), n_ours)


@operator(
    "original.answer",
    calls=_most,
    expected=_once,
    tokens=_tokens_of_answer,
    supplies=READER,
)
def answer(
    question: Question,
    context: Context,
    *,
    engine: Engine,
    original_index: EngineIndex,
    embedder: Embedder,
    llm: LLM,
    prompt: Prompt = ANSWER,
    max_tokens: PositiveInt | None = None,
    max_calls: PositiveInt = 20,
) -> Answer:
    """Our reader's answer from the engine's context, or, in `as_released`, the engine's own.

    Raises EngineFailed where the engine gives none, CallFailed where our reader gives none.
    Source: the engine's release, as its lock names it; our reader is that of VanillaRAG.
    """
    if original_index.told.mode == "equal":
        sent = whole(context.pieces)
        pieces = [Piece(OTHER, "1", sent, 0.0, context.n_tokens)] if sent else []
        chat = prompt.render(reader_values(question, pieces))
        return answered(llm, chat, question, max_tokens)
    found = engine.ask(
        original_index,
        question.text,
        top_k=None,
        budget=None,
        answer=True,
        llm=llm,
        embedder=embedder,
        max_calls=max_calls,
        name=question.id,
    )
    return Answer((found.answer or "").strip())
