"""Operators that rerank chunks: by a language model, by a cross-encoder, or by routes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.name_dictionary import key_of, title_key
from graphrag_bench.algorithms.path_values import Route, Routes
from graphrag_bench.arrays import BoolArray, FloatArray, unique
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.embedding.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graphs.sentences import split_sentences
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.json_replies import read_json, schema_of
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Chunk, Question, Ranked

PURPOSE = "passage order"


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
    prompt: Prompt = Prompt("operators:prompts/chunk_rerank.j2"),
    depth: PositiveInt = 20,
    window: PositiveInt = 20,
    max_tokens: PositiveInt = 160,
) -> Ranked[Chunk]:
    """Let a language model rerank the first `depth` chunks by their relevance to the question.

    The model sees the first 300 words of each chunk and replies with the numbers of the chunks,
    best first. Numbers out of range and duplicates are ignored. Chunks that the model does not list
    follow in their former order. After two unreadable replies, the order does not change. Both
    count as fallbacks. More than `window` chunks are reranked in windows that overlap by half, the
    last window first, with one call per window. Chunks after the first `depth` keep their
    positions. The score is 1 / rank.
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
            raise UnreadableReply(PURPOSE, text, f"field 'order' has no number from 1 to {most}")

        passages = [" ".join(chunk_table.passage(row).split()[:300]) for row in part]
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


AT_ONCE = 64
"""The number of questions whose texts are embedded together."""
TYPICAL = 50
"""Number of top chunks. Their median cosine is subtracted from the cosine of each sentence."""


@operator("chunk.route", batched=True)
def route(
    question: Sequence[Question],
    chunks: Sequence[Ranked[Chunk]],
    *,
    chunk_table: ChunkTable,
    embedder: Embedder,
    n_parents: NonNegativeInt = 25,
    weight: NonNegativeFloat = 0.05,
    parent_weight: NonNegativeFloat = 0.4,
    other_parents: Annotated[float, Field(ge=0, le=1)] = 0.5,
    title_bonus: NonNegativeFloat = 1.0,
    top_k: PositiveInt = 10,
) -> list[tuple[Ranked[Chunk], Routes]]:
    """Rerank chunks by former score and by routes, i.e. sentences with the title of another chunk.

    A route leads from the parent (the chunk of the sentence, among the first `n_parents` chunks) to
    the child (the chunk with the title). The title must occur as whole words. Brackets, case and
    accents are ignored. There are no routes between chunks with the same title.
    The score of a route is `max(0, cosine(question, sentence) - m) * share ** parent_weight`. The
    sentence is embedded together with the title of the parent. m is the median cosine of the first
    50 chunks. The share of a chunk is its former score, at least 0, divided by the best former
    score. If the question does not contain the title of the parent, the score of the route is
    multiplied by `other_parents`.
    The new score of a chunk is `weight * ln(share + 0.0001)`, plus the score of the best route to
    it, if any, plus `title_bonus` if the question contains its title. The best routes to the
    returned chunks are also returned. Ties between routes are broken by the order of the parents,
    then by the order of the sentences.
    Source: this project.
    """
    results: list[tuple[Ranked[Chunk], Routes]] = []
    for begin in range(0, len(question), AT_ONCE):
        block = slice(begin, begin + AT_ONCE)
        candidates = [
            _Candidates.of(one.text, ranked.ids.tolist(), chunk_table, n_parents)
            for one, ranked in zip(question[block], chunks[block], strict=True)
        ]
        texts = list(dict.fromkeys(text for one in candidates for text in one.texts()))
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = encode_in_blocks(texts, embedder)
        asked = embedder.encode([one.text for one in question[block]], kind="question")
        for one, ranked, vector in zip(candidates, chunks[block], asked, strict=True):
            share = np.maximum(ranked.scores, 0.0) / (ranked.scores.max(initial=0.0) or 1.0)
            cosine = vectors[[row_of[text] for text in one.texts()]] @ vector
            best = one.best_routes(cosine, share**parent_weight, other_parents)
            reached = np.array([best[row].score if row in best else 0.0 for row in one.rows])
            scores = weight * np.log(share + 1e-4) + title_bonus * one.is_named + reached
            first = Ranked[Chunk].best(ranked.ids, scores, top_k)
            results.append((first, Routes(tuple(best[row] for row in first.ids if row in best))))
    return results


@dataclass(frozen=True)
class _Candidates:
    """The given chunks, a mask of chunks named in the question, and routes between the chunks.

    A route is (parent in `rows`, child in `rows`, sentence, position of the sentence in `texts`).
    """

    rows: Sequence[int]
    passages: Sequence[str]
    is_named: BoolArray
    routes: Sequence[tuple[int, int, str, int]]
    sentences: Sequence[str]

    @classmethod
    def of(
        cls, question: str, rows: Sequence[int], table: ChunkTable, n_parents: int
    ) -> "_Candidates":
        titles = [title_key(table.titles[row]) for row in rows]
        in_question = set(_names_in(question, titles))
        routes: list[tuple[int, int, str, int]] = []
        sentences: dict[str, int] = {}
        for parent, child, sentence in _routes(rows, titles, table, n_parents):
            heading = table.titles[rows[parent]]
            text = f"{heading}: {sentence}" if heading else sentence
            place = len(rows) + sentences.setdefault(text, len(sentences))
            routes.append((parent, child, sentence, place))
        is_named = np.array([title in in_question for title in titles], bool)
        passages = [table.passage(row) for row in rows]
        return cls(rows, passages, is_named, routes, list(sentences))

    def texts(self) -> list[str]:
        return [*self.passages, *self.sentences] if self.routes else []

    def best_routes(
        self, cosine: Vectors, parents: FloatArray, other_parents: float
    ) -> dict[int, Route]:
        best: dict[int, Route] = {}
        typical = np.median(cosine[: min(len(self.rows), TYPICAL)]) if self.routes else 0.0
        factor = np.where(self.is_named, 1.0, other_parents) * parents
        for parent, child, sentence, place in self.routes:
            score = float(max(cosine[place] - typical, 0.0) * factor[parent])
            row = self.rows[child]
            if score > (best[row].score if row in best else 0.0):
                best[row] = Route(self.rows[parent], row, sentence, score)
        return best


def _routes(
    rows: Sequence[int], titles: Sequence[str], table: ChunkTable, n_parents: int
) -> Iterator[tuple[int, int, str]]:
    """Yield (parent, child, sentence), sorted by parent, sentence and child."""
    children: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        if title:
            children.setdefault(title, []).append(place)
    for parent, row in enumerate(rows[:n_parents]):
        for sentence in split_sentences(table.texts[row]):
            for title in _names_in(sentence, children):
                if title != titles[parent]:
                    yield from ((parent, child, sentence) for child in children[title])


def _names_in(text: str, names: Iterable[str]) -> Iterator[str]:
    words = f" {key_of(text)} "
    return (name for name in names if name and f" {name} " in words)
