"""Answer generation: a context that fits, one prompt, one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import Sizes, operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.llm import LLM, reply
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, fit
from graphrag_bench.values import Answer, Chunk, Context, Piece, Question, Ranked


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """The template, the question and the chunks that fit; half of what an answer may take."""
    template = count_tokens(settings["prompt"].text)
    context = 0.0
    if "pieces" in settings["prompt"].variables:
        context = min(settings["top_k"] * sizes.chunk, settings["budget"])
    return template + sizes.question + context, settings["max_tokens"] / 2


@operator("answer.direct", calls=1, supplies={"question", "pieces"}, tokens=_tokens)
def direct(
    question: Question,
    chunks: Ranked[Chunk] | None = None,
    *,
    llm: LLM,
    chunk_table: ChunkTable,
    prompt: Prompt,
    top_k: PositiveInt = 4,
    budget: PositiveInt = 2000,
    max_tokens: PositiveInt = 48,
) -> tuple[Context, Answer]:
    """The model's answer to the question, and the context it was given.

    The first `top_k` chunks go in, best first, while they fit a budget of tokens (cl100k); the
    rest of them is recorded as cut. Raises CallFailed when the model gives no answer.
    Source: Zhou et al. 2025, section 6.2, direct generation.
    """
    found = Ranked[Chunk].empty() if chunks is None else chunks.head(top_k)
    context = pack(found, chunk_table, budget)
    chat = prompt.render({"question": question.text, "pieces": context.pieces})
    return context, Answer(reply(llm, chat, max_tokens=max_tokens).text.strip())


def pack(chunks: Ranked[Chunk], chunk_table: ChunkTable, budget: int) -> Context:
    """The chunks that fit the budget of tokens, cut at chunk boundaries, best first."""
    pieces = []
    for row, score in zip(chunks.ids, chunks.scores, strict=True):
        text = chunk_table.passage(int(row))
        name = chunk_table.documents_of(int(row))[0]
        pieces.append(Piece("chunk", name, text, float(score), count_tokens(text)))
    kept = fit([piece.n_tokens for piece in pieces], budget)
    return Context(tuple(pieces[:kept]), tuple((piece.kind, piece.id) for piece in pieces[kept:]))
