"""Chunks by the routes that lead to them: sentences of other chunks that name their title."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.name_dictionary import title_key
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.graphs.routes import names_in, title_routes
from graphrag_bench.values import Chunk, FloatArray, Question, Ranked, best_of
from operators.similarity import BoolArray, vectors_of

_LEAST_SHARE = 1e-4
"""Added to a share before its logarithm is taken, so that a share of 0 has one."""
AT_ONCE = 64
"""Questions whose texts are embedded together."""


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
) -> list[Ranked[Chunk]]:
    """The `top_k` of the given chunks by their former score and the best route to each.

    A route leads from a parent, one of the first `n_parents` chunks, to a child, any other given
    chunk, along a sentence of the parent that names the child's title: without what is in brackets,
    as words of the sentence, in any case and with any accents. Chunks of one title, those of a long
    document, are no routes to each other. A route's score is how far the cosine of the question and
    the sentence, read behind the parent's title, exceeds the median cosine of the given chunks,
    times the parent's share to the power of `parent_weight`, times `other_parents` unless the
    question names the parent's title. A share is a chunk's former score divided by the best one,
    0..1; a negative one counts as 0.
    Score: `weight` * ln(share + 0.0001), plus the score of the best route, 0 without one, plus
    `title_bonus` for a chunk whose title the question names. Ties by lower id.
    Source: ours.
    """
    results: list[Ranked[Chunk]] = []
    for begin in range(0, len(question), AT_ONCE):
        block = slice(begin, begin + AT_ONCE)
        asked = question[block]
        routes = [
            _Routes.of(one.text, ranked.ids.tolist(), chunk_table, n_parents)
            for one, ranked in zip(asked, chunks[block], strict=True)
        ]
        texts = list(dict.fromkeys(text for one in routes for text in one.texts()))
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = encode_in_blocks(texts, embedder)
        questions = vectors_of(asked, [None] * len(asked), embedder)
        for one, ranked, (vector,) in zip(routes, chunks[block], questions, strict=True):
            share = np.maximum(ranked.scores, 0.0) / (ranked.scores.max(initial=0.0) or 1.0)
            rows = [row_of[text] for text in one.texts()]
            reached = one.reached(vectors[rows] @ vector, share**parent_weight, other_parents)
            scores = weight * np.log(share + _LEAST_SHARE) + title_bonus * one.named + reached
            results.append(best_of(ranked.ids, scores, top_k))
    return results


@dataclass(frozen=True)
class _Routes:
    """Passages of the given chunks, which of them the question names, and routes among them.

    A route is (place of the parent, place of the child, number of the sentence).
    """

    passages: Sequence[str]
    named: BoolArray
    routes: Sequence[tuple[int, int, int]]
    sentences: Sequence[str]

    @classmethod
    def of(cls, question: str, rows: Sequence[int], table: ChunkTable, n_parents: int) -> "_Routes":
        titles = [title_key(table.titles[row]) for row in rows]
        asked = set(names_in(question, titles))
        routes: list[tuple[int, int, int]] = []
        sentences: dict[str, int] = {}
        for parent, child, sentence in title_routes(rows, table, n_parents):
            heading = table.titles[rows[parent]]
            text = f"{heading}: {sentence}" if heading else sentence
            routes.append((parent, child, sentences.setdefault(text, len(sentences))))
        named = np.array([title in asked for title in titles], bool)
        return cls([table.passage(row) for row in rows], named, routes, list(sentences))

    def texts(self) -> list[str]:
        """The texts to embed: the passages, then the sentences."""
        return [*self.passages, *self.sentences] if self.routes else []

    def reached(self, cosine: Vectors, parents: FloatArray, other_parents: float) -> FloatArray:
        """The score of the best route to each chunk, of the cosines of all texts."""
        best = np.zeros(len(self.passages))
        if self.routes:
            parent, child, sentence = np.array(self.routes).T
            n_passages = len(self.passages)
            above = cosine[n_passages + sentence] - np.median(cosine[:n_passages])
            factor = np.where(self.named, 1.0, other_parents) * parents
            np.maximum.at(best, child, np.maximum(above, 0.0) * factor[parent])
        return best
