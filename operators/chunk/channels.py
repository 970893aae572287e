"""Chunks by what of them is nearest to the question: their keywords, the attributes they state."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.bipartite import KeywordGraph
from graphrag_bench.algorithms.graph import Graph, attributes_of
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex, products
from graphrag_bench.text import count_tokens, fit
from graphrag_bench.values import Chunk, IntArray, Query, Question, Ranked, best_of
from operators.node.attributes import best_of_rows
from operators.similarity import best_hits, most_similar, searched, vectors_of

Size = Callable[[int], int]
"""What a chunk takes of a pool: one place, or its tokens."""


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
    room, most = (pool, top_k) if tokens is None else (2 * tokens, tokens)

    @cache
    def size(chunk: int) -> int:
        return 1 if tokens is None else count_tokens(chunk_table.passage(chunk))

    groups = vectors_of(question, query, embedder)
    rankings: list[Ranked[Chunk]] = []
    for vectors, hits in zip(groups, searched(groups, keyword_index, n_keywords), strict=True):
        nearest = best_hits(hits, n_keywords).ids
        before, last = _handed_in(nearest, keyword_graph, size, room)
        rows = np.concatenate([before, last])
        if not len(rows):
            rankings.append(Ranked.empty())
            continue
        cosine = products(vectors, chunk_index.vectors, np.tile(rows, (len(vectors), 1)))
        scores = cosine.max(axis=0).astype(np.float64)
        filling: Ranked[Chunk] = best_of(last, scores[len(before) :], len(last))
        filling = _first(filling, size, room - sum(map(size, before.tolist())))
        ids = np.concatenate([before, filling.ids])
        scores = np.concatenate([scores[: len(before)], filling.scores])
        rankings.append(_first(best_of(ids, scores, len(ids)), size, most))
    return rankings


def _handed_in(
    keywords: IntArray, keyword_graph: KeywordGraph, size: Size, room: int
) -> tuple[IntArray, IntArray]:
    """The chunks of keywords before the pool is full, and the new ones of that which fills it."""
    rows: dict[int, None] = {}
    used = 0
    for keyword in keywords.tolist():
        own = row_ids(keyword_graph.keyword_chunk, keyword)
        new = own[[chunk not in rows for chunk in own.tolist()]]
        used += sum(map(size, new.tolist()))
        if used >= room:
            return np.array(list(rows), np.int64), new
        rows.update(dict.fromkeys(new.tolist()))
    return np.array(list(rows), np.int64), np.zeros(0, np.int64)


def _first(ranked: Ranked[Chunk], size: Size, room: int) -> Ranked[Chunk]:
    return ranked.head(fit([size(chunk) for chunk in ranked.ids.tolist()], room))


@operator("chunk.by_attribute", batched=True, requires={"node.attributes"})
def chunks_by_attribute(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    attribute_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    n_attributes: PositiveInt = 20,
) -> list[Ranked[Chunk]]:
    """The chunks that state the attributes most similar to the question, or to a query.

    Score: the best cosine of the attributes that the chunk states among the `n_attributes` found,
    which are those of `node.by_attribute`. Ties by lower id.
    Source: Youtu-GraphRAG (Dong et al. 2025), the chunk of an attribute found; its release.
    """
    attributes = attributes_of(graph)
    nearest = most_similar(question, query, attribute_index, embedder, n_attributes)
    chosen: list[Ranked[Chunk]] = []
    for one in nearest:
        stating = [row_ids(attributes.chunk, row) for row in one.ids.tolist()]
        scores = np.repeat(one.scores, [len(chunks) for chunks in stating])
        chosen.append(best_of_rows(np.concatenate([np.zeros(0, np.int64), *stating]), scores))
    return chosen
