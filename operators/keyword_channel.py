"""Chunks by the keywords of a keyword-chunk graph that are nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.graph.keyword_graph import KeywordGraph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Chunk, FloatArray, IntArray, Query, Question, Ranked, best_first
from operators.similarity import most_similar, scaled_scores


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
    near = most_similar(question, query, keyword_index, embedder, n_keywords)
    scores = scaled_scores(question, query, chunk_index, embedder, "cosine")
    return [
        Ranked.top(cosine, top_k, among=_pooled(keywords.ids, keyword_graph, cosine, pool))
        for keywords, cosine in zip(near, scores, strict=True)
    ]


def _pooled(
    keywords: IntArray, keyword_graph: KeywordGraph, cosine: FloatArray, pool: int
) -> IntArray:
    """The first `pool` chunks that the keywords hand in, in that order."""
    found: dict[int, None] = {}
    for keyword in keywords.tolist():
        own = row_ids(keyword_graph.keyword_chunk, keyword)
        found.update(dict.fromkeys(own[best_first(cosine[own], own)].tolist()))
        if len(found) >= pool:
            break
    return np.array(list(found)[:pool], np.int64)
