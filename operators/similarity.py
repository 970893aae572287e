"""Vector search for a question, or for the texts of a query in its place."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import (
    BoolArray,
    FloatArray,
    Query,
    Question,
    Ranked,
    best_of,
    best_of_each,
)

Scale = Literal["min_max", "cosine"]


def most_similar(
    question: Sequence[Question],
    query: Sequence[Query | None],
    index: VectorIndex,
    embedder: Embedder,
    top_k: int,
    among: BoolArray | None = None,
) -> list[Ranked[Any]]:
    """The rows of an index most similar to each question, or to its query where there is one.

    Score: cosine, -1..1; of several query texts the best one counts. Ties by lower id. A query
    without a text finds nothing. Only the rows `among` are searched, all of them for None. The
    embedder is called once for all.
    """
    groups = vectors_of(question, query, embedder)
    return [best_hits(hits, top_k) for hits in searched(groups, index, top_k, among)]


def searched(
    groups: Sequence[Vectors], index: VectorIndex, k: int, among: BoolArray | None = None
) -> list[list[Ranked[Any]]]:
    """The `k` rows most similar to each vector of each group, in one search for all of them.

    Of the rows `among` alone where they are given: then every row's cosine is computed.
    """
    if among is not None:
        rows = np.flatnonzero(among)
        return [[Ranked.top(index.scores(one), k, among=rows) for one in group] for group in groups]
    flat = np.concatenate(groups) if groups else np.zeros((0, 1), np.float32)
    hits = iter(index.search(flat, k))
    return [[next(hits) for _ in group] for group in groups]


def scaled(
    vectors: Vectors, index: VectorIndex, scale: Scale, among: BoolArray | None = None
) -> FloatArray:
    """The similarity of every row of an index to a question's texts, float64 (n_rows,).

    Of several vectors the best one counts; without one all rows have 0. `min_max` puts the least
    similar of the rows `among` (all of them for None) at 0 and the most similar at 1, all of them
    at 1 where all are alike; the other rows keep their place on that scale.
    """
    if not len(vectors) or not len(index):
        return np.zeros(len(index))
    cosine = np.max([index.scores(vector) for vector in vectors], axis=0).astype(np.float64)
    if scale == "cosine":
        return np.asarray(cosine, np.float64)
    compared = cosine if among is None else cosine[among]
    low, high = compared.min(initial=np.inf), compared.max(initial=-np.inf)
    return np.asarray((cosine - low) / (high - low)) if high > low else np.ones(len(cosine))


def vectors_of(
    question: Sequence[Question], query: Sequence[Query | None], embedder: Embedder
) -> list[Vectors]:
    """The vectors of each question's texts, float32 (n_texts, dimension) each."""
    texts = [
        (one.text,) if wanted is None else wanted.texts
        for one, wanted in zip(question, query, strict=True)
    ]
    flat = [text for group in texts for text in group]
    vectors = embedder.encode(flat, kind="question") if flat else np.zeros((0, 1), np.float32)
    ends = np.cumsum([len(group) for group in texts]).tolist()
    return [vectors[end - len(group) : end] for group, end in zip(texts, ends, strict=True)]


def best_hits(hits: Sequence[Ranked[Any]], top_k: int) -> Ranked[Any]:
    """The best rows of several lists by their best score, ties by lower id."""
    if len(hits) == 1:
        return hits[0]
    if not hits:
        return Ranked.empty()
    ids, scores = (np.concatenate([getattr(h, part) for h in hits]) for part in ("ids", "scores"))
    return best_of(*best_of_each(ids, scores), top_k)
