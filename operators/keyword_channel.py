"""Chunks by the keywords of a keyword-chunk graph that are nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.graph.keyword_graph import KeywordGraph
from graphrag_bench.models.embedder import Embedder, Vectors
from graphrag_bench.models.nearest import products
from graphrag_bench.models.vector_index import VectorIndex
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
    embedder: Embedder,
    n_keywords: PositiveInt = 1000,
    pool: PositiveInt = 20,
    top_k: PositiveInt = 10,
) -> list[Ranked[Chunk]]:
    """The chunks of the nearest keywords that are most similar to the question or its query.

    The `n_keywords` nearest keywords hand in their chunks, the nearest keyword first, and the most
    similar chunk of each first, until there are `pool` different ones; the `top_k` most similar of
    those are found. A keyword is as near as its sentences are on average.
    Score: the chunk's cosine with the question, -1..1; of several query texts the best one counts.
    Ties by lower id. A query without a text finds nothing.
    Source: KET-RAG (Huang et al. 2025), keyword channel; released code 3630de3, which fills a pool
    of twice the tokens of the prompt.
    """
    groups = vectors_of(question, query, embedder)
    handed: list[Handed] = [(_NONE, _NONE) for _ in groups]
    left, k = list(range(len(groups))), min(pool, n_keywords)
    while left:  # more keywords are looked for only where those found leave the pool unfilled
        near = searched([groups[row] for row in left], keyword_index, k)
        for row, hits in zip(left, near, strict=True):
            handed[row] = _handed_in(best_hits(hits, k).ids, keyword_graph, pool)
        if k == n_keywords:
            break
        left = [row for row in left if sum(map(len, handed[row])) < pool]
        k = min(4 * k, n_keywords)
    return [
        _most_similar(group, *chunks, chunk_index, pool, top_k)
        for group, chunks in zip(groups, handed, strict=True)
    ]


def _handed_in(keywords: IntArray, keyword_graph: KeywordGraph, pool: int) -> Handed:
    """The chunks of the keywords before the one that fills the pool, and the new ones of that."""
    found: dict[int, None] = {}
    for keyword in keywords.tolist():
        own = row_ids(keyword_graph.keyword_chunk, keyword).tolist()
        new = [chunk for chunk in own if chunk not in found]
        if len(found) + len(new) >= pool:
            return np.array(list(found), np.int64), np.array(new, np.int64)
        found.update(dict.fromkeys(new))
    return np.array(list(found), np.int64), _NONE


def _most_similar(
    vectors: Vectors, before: IntArray, last: IntArray, index: VectorIndex, pool: int, top_k: int
) -> Ranked[Chunk]:
    """The most similar of a pool: all chunks of `before`, and the most similar of `last`."""
    rows = np.concatenate([before, last])
    if not len(rows):
        return Ranked.empty()
    cosine = products(vectors, index.vectors, np.tile(rows, (len(vectors), 1))).max(axis=0)
    scores = cosine.astype(np.float64)
    filling = best_of(last, scores[len(before) :], pool - len(before))
    ids = np.concatenate([before, filling.ids])
    return best_of(ids, np.concatenate([scores[: len(before)], filling.scores]), top_k)
