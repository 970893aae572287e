"""Operators that search nodes, relationships, chunks and communities by vectors, TF-IDF or BM25.

The search text is the question, or the query if the step has `use: [query]`. Unless an operator
documents another score, the score of a row is its highest cosine (-1..1) with the texts of the
query. An empty query has no results.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.arrays import DECIMALS, BoolArray, FloatArray, best_score_by_id
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.indices.words import Bm25, Tfidf
from graphrag_bench.values import (
    Chunk,
    ChunkScores,
    Community,
    Node,
    Query,
    Question,
    Ranked,
    Relationship,
)
from operators.community.of_graph import with_report
from operators.relationship.of_graph import by_degree_and_weight

Cosine = Annotated[float, Field(ge=-1, le=1)]
Scale = Literal["min_max", "cosine"]


def vectors_of(
    question: Sequence[Question], query: Sequence[Query | None], embedder: Embedder
) -> list[Vectors]:
    """Embed the texts of each query. If a query is None, embed the question."""
    pairs = zip(question, query, strict=True)
    texts = [(one.text,) if wanted is None else wanted.texts for one, wanted in pairs]
    flat = [text for group in texts for text in group]
    vectors = embedder.encode(flat, kind="question") if flat else np.zeros((0, 1), np.float32)
    return np.split(vectors, np.cumsum([len(group) for group in texts])[:-1])


def search_each(
    groups: Sequence[Vectors], index: VectorIndex, k: int, among: BoolArray | None = None
) -> list[list[Ranked[Any]]]:
    """For each vector of each group, return the `k` most similar rows where `among` is true."""
    if among is not None:
        rows = np.flatnonzero(among)
        return [[Ranked.top(index.scores(one), k, among=rows) for one in group] for group in groups]
    hits = iter(index.search(np.concatenate(groups), k))
    return [[next(hits) for _ in group] for group in groups]


def best_hits(hits: Sequence[Ranked[Any]], top_k: int) -> Ranked[Any]:
    """Merge rankings into one ranking of the `top_k` rows with the highest scores."""
    if not hits:
        return Ranked.empty()
    ids, scores = (np.concatenate([getattr(h, part) for h in hits]) for part in ("ids", "scores"))
    return Ranked.best(*best_score_by_id(ids, scores), top_k)


def most_similar(
    question: Sequence[Question],
    query: Sequence[Query | None],
    index: VectorIndex,
    embedder: Embedder,
    top_k: int,
    among: BoolArray | None = None,
) -> list[Ranked[Any]]:
    """For each query or question, return the `top_k` most similar rows where `among` is true."""
    groups = vectors_of(question, query, embedder)
    return [best_hits(hits, top_k) for hits in search_each(groups, index, top_k, among)]


def scaled_similarity(
    vectors: Vectors, index: VectorIndex, scale: Scale, among: BoolArray | None = None
) -> FloatArray:
    """Return the highest cosine of each row of an index with the given vectors, float64 (n_rows,).

    With `scale="min_max"`, the lowest cosine of the rows in `among` becomes 0 and the highest 1. If
    these cosines are equal, all values are 1. Without vectors, all values are 0.
    """
    if not len(vectors) or not len(index):
        return np.zeros(len(index))
    cosine = np.max([index.scores(vector) for vector in vectors], axis=0).astype(np.float64)
    if scale == "cosine":
        return np.asarray(cosine)
    compared = cosine if among is None else cosine[among]
    low, high = compared.min(initial=np.inf), compared.max(initial=-np.inf)
    return np.asarray((cosine - low) / (high - low)) if high > low else np.ones(len(cosine))


@operator("node.vdb", table3="VDB", batched=True)
def node_vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    node_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 4,
    min_score: Cosine = -1.0,
    score: Literal["cosine", "share"] = "cosine",
    types: tuple[str, ...] = (),
) -> list[Ranked[Node]]:
    """Return the nodes whose vectors are most similar to the question or query.

    Nodes with a cosine below `min_score` are dropped. In a tree, all layers are searched. With
    `score="share"`, as in fast-graphrag, the scores are (1 + cosine) / 2, divided by their sum.
    Source: Zhou et al. (2025), Section 6.1, node "VDB".
    """
    among = nodes_of_types(graph, types)
    rankings = most_similar(question, query, node_index, embedder, top_k, among)
    rankings = [one.take(one.scores >= min_score) for one in rankings]
    if score == "cosine":
        return rankings
    halves = [Ranked[Node](one.ids, (1.0 + one.scores) / 2.0) for one in rankings]
    return [Ranked(one.ids, one.scores / (one.scores.sum() or 1.0)) for one in halves]


@operator("relationship.vdb", table3="VDB", batched=True, order="with degree_weight, by degree")
def relationship_vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    relationship_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 4,
    min_score: Cosine = -1.0,
    order: Literal["similarity", "degree_weight"] = "similarity",
) -> list[Ranked[Relationship]]:
    """Return the relationships whose vectors are most similar to the question or query.

    Relationships with a cosine below `min_score` are dropped. With `order="degree_weight"`, as in
    the code of Zhou et al., the result is sorted by the degree of the head plus the degree of the
    tail, then by weight.
    Source: Zhou et al. (2025), Section 6.1, relationship "VDB".
    """
    rankings = most_similar(question, query, relationship_index, embedder, top_k)
    rankings = [one.take(np.round(one.scores, DECIMALS) >= min_score) for one in rankings]
    if order == "similarity":
        return rankings
    return [one.take(by_degree_and_weight(graph, one.ids, one.ids)) for one in rankings]


@operator("chunk.vdb", batched=True)
def chunk_vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """Return the chunks whose vectors are most similar to the question or query.

    Source: Zhou et al. (2025), Section 7 (VanillaRAG); technical report, B.1, chunk "VDB".
    """
    return most_similar(question, query, chunk_index, embedder, top_k)


@operator("community.vdb", batched=True)
def community_vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    community_index: VectorIndex,
    communities: Communities,
    reports: Reports,
    embedder: Embedder,
    level: NonNegativeInt | None = None,
    top_k: PositiveInt = 4,
) -> list[Ranked[Community]]:
    """Return the communities whose reports are most similar to the question or query.

    Communities without a report are left out. Levels from 0 (the coarsest) to `level` are searched.
    Source: Zhou et al. (2025), technical report, B.1, community "VDB".
    """
    among = np.isin(np.arange(len(communities)), with_report(communities, reports, level))
    return most_similar(question, query, community_index, embedder, top_k, among)


@operator("chunk.similarity", batched=True)
def similarity(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    scale: Scale = "min_max",
) -> list[ChunkScores]:
    """Return the cosine similarity of every chunk to the question or query.

    With `scale="min_max"`, the cosines of all chunks are scaled to 0..1. If all cosines are equal,
    every score is 1. If the query is empty, all scores are 0.
    Source: HippoRAG 2 (Gutierrez et al. 2025), Section 3.4, reset probabilities of passage nodes.
    """
    return [
        ChunkScores.later(partial(scaled_similarity, vectors, chunk_index, scale), len(chunk_index))
        for vectors in vectors_of(question, query, embedder)
    ]


@operator("node.tfidf", table3="TF-IDF")
def tfidf(
    question: Question,
    query: Query | None = None,
    nodes: Ranked[Node] | None = None,
    *,
    tfidf: Tfidf,
    top_k: PositiveInt = 4,
) -> Ranked[Node]:
    """Return the nodes whose texts are most similar to the question or query by TF-IDF.

    The score is the cosine of the TF-IDF vectors (0..1). With `use: [nodes]`, only the given nodes
    are ranked. Nodes that have no word in common with the question are dropped.
    Source: Zhou et al. (2025), Section 6.1, node "TF-IDF"; KGP (Wang et al. 2024), Section 3.
    """
    texts = (question.text,) if query is None else query.texts
    if not texts:
        return Ranked.empty()
    scores = np.max([tfidf.scores(text) for text in texts], axis=0)
    candidates = np.arange(len(scores)) if nodes is None else nodes.ids
    return Ranked.top(scores, top_k, among=candidates[scores[candidates] > 0])


@operator("chunk.bm25")
def bm25(
    question: Question, query: Query | None = None, *, bm25: Bm25, top_k: PositiveInt = 4
) -> Ranked[Chunk]:
    """Return the chunks with the highest BM25 scores for the question or query.

    If a query has several texts, their scores are added. Chunks that have no word in common with
    the question are dropped.
    Source: Robertson and Zaragoza (2009), in Lucene's variant (Kamphuis et al. 2020).
    """
    texts = (question.text,) if query is None else query.texts
    scores = np.sum([bm25.scores(text) for text in texts], axis=0) if texts else np.zeros(0)
    return Ranked.top(scores, top_k, among=np.flatnonzero(scores > 0))


@operator("chunk.min_max", order="the order given")
def min_max(chunks: Ranked[Chunk], *, weight: NonNegativeFloat = 1.0) -> Ranked[Chunk]:
    """Scale the scores of the chunks to the range from 0 to `weight`. The order does not change.

    Scores of several retrievers can then be added. If all scores are equal, each becomes `weight`.
    Source: Bruch, Gai and Ingber, TOIS 2023, Section 3, convex combination.
    """
    if not len(chunks):
        return chunks
    low, spread = chunks.scores.min(), np.ptp(chunks.scores)
    unit = (chunks.scores - low) / spread if spread > 0 else np.ones(len(chunks))
    return Ranked(chunks.ids, unit * weight)


@operator("chunk.head", order="the order given")
def head(chunks: Ranked[Chunk], *, top_k: PositiveInt = 4) -> Ranked[Chunk]:
    """Keep only the first `top_k` chunks of a ranking.

    Source: this project.
    """
    return chunks.head(top_k)
