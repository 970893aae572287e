"""Chunks by the keywords of a keyword-chunk graph that are nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.tri_graph import KeywordGraph
from graphrag_bench.models.embedder import Embedder, Vectors
from graphrag_bench.models.nearest import products
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.text import count_tokens, fit
from graphrag_bench.values import Chunk, IntArray, Query, Question, Ranked, best_of
from operators.similarity import best_hits, searched, vectors_of

Handed = tuple[IntArray, IntArray]
_NONE = np.zeros(0, np.int64)


@operator("chunk.by_keyword", batched=True)
def by_keyword(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    keyword_graph: KeywordGraph,
    keyword_index: VectorIndex,
    chunk_index: VectorIndex,
    chunk_table: ChunkTable,
    embedder: Embedder,
    n_keywords: PositiveInt = 1000,
    pool: PositiveInt = 20,
    top_k: PositiveInt = 10,
    tokens: PositiveInt | None = None,
) -> list[Ranked[Chunk]]:
    """The chunks of the nearest keywords that are most similar to the question or its query.

    The `n_keywords` nearest keywords hand in their chunks, the nearest keyword first, and the most
    similar chunk of each first, until there are `pool` different ones; the `top_k` most similar of
    those are found. With `tokens` the pool is of twice so many tokens, and the most similar chunks
    are found that fit them, however many. A keyword is as near as its sentences are on average.
    Score: the chunk's cosine with the question, -1..1; of several query texts the best one counts.
    Ties by lower id. A query without a text finds nothing.
    Source: KET-RAG (Huang et al. 2025), keyword channel; released code 3630de3, which has
    `tokens`.
    """
    groups = vectors_of(question, query, embedder)
    room = _Room(pool, top_k) if tokens is None else _Room(2 * tokens, tokens, chunk_table)
    handed: list[Handed] = [(_NONE, _NONE) for _ in groups]
    left, k = list(range(len(groups))), min(pool, n_keywords)
    while left:  # more keywords are looked for only where those found leave the pool unfilled
        near = searched([groups[row] for row in left], keyword_index, k)
        for row, hits in zip(left, near, strict=True):
            handed[row] = _handed_in(best_hits(hits, k).ids, keyword_graph, room)
        if k == n_keywords:
            break
        left = [row for row in left if sum(map(room.taken, handed[row])) < room.pool]
        k = min(4 * k, n_keywords)
    return [
        _most_similar(group, *chunks, chunk_index, room)
        for group, chunks in zip(groups, handed, strict=True)
    ]


@dataclass
class _Room:
    pool: int
    found: int
    table: ChunkTable | None = None
    sizes: dict[int, int] = field(default_factory=dict)

    def taken(self, chunks: IntArray) -> int:
        return sum(self._size(chunk) for chunk in chunks.tolist())

    def first(self, ranked: Ranked[Chunk], room: int) -> Ranked[Chunk]:
        return ranked.head(fit([self._size(chunk) for chunk in ranked.ids.tolist()], room))

    def _size(self, chunk: int) -> int:
        if self.table is None:
            return 1
        if chunk not in self.sizes:
            self.sizes[chunk] = count_tokens(self.table.passage(chunk))
        return self.sizes[chunk]


def _handed_in(keywords: IntArray, keyword_graph: KeywordGraph, room: _Room) -> Handed:
    found: dict[int, None] = {}
    used = 0
    for keyword in keywords.tolist():
        own = row_ids(keyword_graph.keyword_chunk, keyword)
        new = own[[chunk not in found for chunk in own.tolist()]]
        used += room.taken(new)
        if used >= room.pool:
            return np.array(list(found), np.int64), new
        found.update(dict.fromkeys(new.tolist()))
    return np.array(list(found), np.int64), _NONE


def _most_similar(
    vectors: Vectors, before: IntArray, last: IntArray, index: VectorIndex, room: _Room
) -> Ranked[Chunk]:
    rows = np.concatenate([before, last])
    if not len(rows):
        return Ranked.empty()
    cosine = products(vectors, index.vectors, np.tile(rows, (len(vectors), 1))).max(axis=0)
    scores = cosine.astype(np.float64)
    filling: Ranked[Chunk] = best_of(last, scores[len(before) :], len(last))
    filling = room.first(filling, room.pool - room.taken(before))
    ids = np.concatenate([before, filling.ids])
    scores = np.concatenate([scores[: len(before)], filling.scores])
    return room.first(best_of(ids, scores, len(ids)), room.found)
