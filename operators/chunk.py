"""Chunk operators: from questions, nodes or relationships to ranked chunks."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.bm25 import Bm25
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import (
    Chunk,
    FloatArray,
    NodeScores,
    Query,
    Question,
    Ranked,
    RelationshipScores,
)


@operator("chunk.vdb")
def vdb(
    question: Question,
    query: Query | None = None,
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """The chunks most similar to the question, or to a query that the step uses instead.

    Score: cosine, -1..1; of several query texts the best one counts. Ties by lower id.
    Source: Zhou et al. 2025, section 7 (VanillaRAG); technical report, B.1, chunk "VDB".
    """
    (found,) = vdb_batched(
        [question], [query], chunk_index=chunk_index, embedder=embedder, top_k=top_k
    )
    return found


@operator.batched("chunk.vdb")
def vdb_batched(
    question: list[Question],
    query: list[Query | None],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: int = 4,
) -> list[Ranked[Chunk]]:
    """The chunks of many questions, with one call of the embedder."""
    texts = [
        (asked.text,) if wanted is None else wanted.texts
        for asked, wanted in zip(question, query, strict=True)
    ]
    flat = [text for group in texts for text in group]
    vectors = embedder.encode(flat, kind="question") if flat else np.zeros((0, 1), np.float32)
    hits = chunk_index.search(vectors, top_k)
    found, start = [], 0
    for group in texts:
        found.append(_best(hits[start : start + len(group)], len(chunk_index), top_k))
        start += len(group)
    return found


def _best(hits: list[Ranked[Chunk]], n_chunks: int, top_k: int) -> Ranked[Chunk]:
    """The best rows of several lists by their best score."""
    if len(hits) == 1:
        return hits[0]
    scores: FloatArray = np.full(n_chunks, -np.inf)
    for hit in hits:
        np.maximum.at(scores, hit.ids, hit.scores)
    return Ranked.top(scores, top_k, among=np.flatnonzero(np.isfinite(scores)))


@operator("chunk.bm25")
def bm25(
    question: Question, query: Query | None = None, *, bm25: Bm25, top_k: PositiveInt = 4
) -> Ranked[Chunk]:
    """The chunks with the highest BM25 score for the question, or for a query used instead.

    Score: BM25, above 0; the scores of several query texts add up. Chunks that share no word with
    the question are left out. Ties by lower id.
    Source: Robertson & Zaragoza 2009, in Lucene's variant (Kamphuis et al. 2020).
    """
    texts = (question.text,) if query is None else query.texts
    scores = np.sum([bm25.scores(text) for text in texts], axis=0) if texts else np.zeros(0)
    return Ranked.top(scores, top_k, among=np.flatnonzero(scores > 0))


@operator("chunk.aggregator")
def aggregator(
    relationship_scores: RelationshipScores,
    node_scores: NodeScores | None = None,
    *,
    graph: Graph,
    by: Literal["relationships", "nodes"] = "relationships",
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
    pad: bool = False,
) -> Ranked[Chunk]:
    """The chunks with the highest sum of the scores of the relationships read from them.

    Score: a sum, in the unit of the relationship scores. With `unit="pair"` a pair of nodes
    counts once for a chunk, by its best row, however many facts join the two; with `fact` every
    row counts. `by="nodes"` sums the scores of the chunk's nodes instead (the step must
    `use: [node_scores]`). Chunks with score 0 are left out unless `pad`. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, chunk "Aggregator"; technical report, table 3.
    """
    if by == "nodes":
        if node_scores is None:
            raise ValueError("by='nodes' takes the step setting use: [node_scores]")
        scores = graph.node_chunk.T @ node_scores.values
    elif unit == "fact":
        scores = graph.relationship_chunk.T @ relationship_scores.values
    else:
        best = np.full(len(graph.pairs.source), -np.inf)
        np.maximum.at(best, graph.pairs.of, relationship_scores.values)
        scores = graph.pair_chunk.T @ best
    among = np.arange(graph.n_chunks) if pad else np.flatnonzero(scores)
    return Ranked.top(scores, top_k, among=among)
