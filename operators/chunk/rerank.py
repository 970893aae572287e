"""Operators that rerank chunks with a language model or a cross-encoder."""

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.json_replies import read_json, schema_of
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Chunk, Question, Ranked, unique

PROMPT = Prompt("operators:prompts/chunk_rerank.j2")
PURPOSE = "passage order"
_WORDS = 300


class Order(BaseModel):
    """Reply to the rerank prompt: passage numbers from 1, best first."""

    order: list[int] = Field(json_schema_extra={"maxItems": 40})


def _windows(n_rows: int, window: int) -> list[int]:
    return [*range(max(n_rows - window, 0), 0, -max(window // 2, 1)), 0]


@operator(
    "chunk.rerank", calls=lambda settings: 2 * len(_windows(settings["depth"], settings["window"])),
    supplies={"question", "passages"}, order="the order that the model gives",
)  # fmt: skip
def rerank(
    question: Question,
    chunks: Ranked[Chunk],
    *,
    chunk_table: ChunkTable,
    llm: ChatModel,
    prompt: Prompt = PROMPT,
    depth: PositiveInt = 20,
    window: PositiveInt = 20,
    max_tokens: PositiveInt = 160,
) -> Ranked[Chunk]:
    """Let a language model rerank the first `depth` chunks by their relevance to the question.

    The model sees the first 300 words of each chunk and replies with the numbers of the chunks,
    best first. Numbers out of range and duplicates are ignored. Chunks that it does not list, or
    all after two unreadable replies, keep their order, which counts as a fallback. More than
    `window` chunks are reranked in windows that overlap by half, the last window first, with one
    call per window. Chunks after the first `depth` keep their positions. The score is 1 / rank.
    Source: RankGPT (Sun et al., EMNLP 2023), Sections 3.2 and 3.3.
    """
    rows: list[int] = chunks.ids.tolist()
    n_first = min(len(rows), depth)
    for begin in _windows(n_first, window) if n_first > 1 else ():
        part = rows[begin : min(begin + window, n_first)]

        def read(text: str, cut: bool, most: int = len(part)) -> tuple[int, ...]:
            named = read_json(text, Order, purpose=PURPOSE, repair=not cut).order
            if order := unique([number - 1 for number in named if 1 <= number <= most]):
                return order
            problem = f"field 'order' has no number from 1 to {most}"
            raise UnreadableReply(PURPOSE, text, problem)

        passages = [" ".join(chunk_table.passage(row).split()[:_WORDS]) for row in part]
        (order,) = ask_about(
            llm, [{"question": question.text, "passages": passages}], prompt.render,
            ReplyFormat(PURPOSE, read, schema_of(Order)), lambda order, _: order,
            fallback=lambda _: tuple[int, ...](), max_tokens=max_tokens,
        )  # fmt: skip
        if 0 < len(order) < len(part):
            llm.meter.fallbacks += 1
        order = unique([*order, *range(len(part))])
        rows[begin : begin + len(part)] = [part[position] for position in order]
    return Ranked(np.array(rows, np.int64), 1.0 / np.arange(1, len(rows) + 1))


@operator("chunk.rerank.cross_encoder", batched=True)
def cross_encoder_rerank(
    question: Sequence[Question],
    chunks: Sequence[Ranked[Chunk]],
    *,
    chunk_table: ChunkTable,
    cross_encoder: CrossEncoder,
    top_k: PositiveInt = 10,
) -> list[Ranked[Chunk]]:
    """Return the `top_k` given chunks with the highest cross-encoder scores for the question.

    The model `cross_encoder.model` scores pairs of the question and a chunk with its title. The
    score is the logit, which can be any number. Long texts are truncated.
    Source: Nogueira and Cho (2019), *Passage Re-ranking with BERT*, Section 3.
    """
    ids = [np.unique(one.ids) for one in chunks]
    passages = [[chunk_table.passage(row) for row in rows.tolist()] for rows in ids]
    scores = cross_encoder.scores([one.text for one in question], passages)
    best = [Ranked[Chunk].top(one, top_k) for one in scores]
    return [Ranked(rows[one.ids], one.scores) for rows, one in zip(ids, best, strict=True)]
