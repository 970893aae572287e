"""Top-k search by inner product over unit vectors: faiss over a memory map.

Rows of float32 are read where they lie, so that a memory map is not copied; rows of float16 in
blocks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import load_array, save_array
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.values import DECIMALS, Ranked

StoredAs = Literal["float32", "float16"]

_SPARE = 16
_MOST_CANDIDATES = 2**22
"""Candidates of a block of queries, about 50 bytes each while they are ranked: 200 MB."""
MOST_NUMBERS = 2**23
"""Numbers of a block of float16 rows that is turned into float32: 32 MB."""

Ids = NDArray[np.int64]
Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Unit rows, float32 or float16 (n, dimension); row i belongs to row i of its table.

    `statistics` tells how the texts fitted into the embedder's window, when the index was made.
    """

    vectors: Array
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.vectors)

    def stored_as(self, numbers: StoredAs) -> "VectorIndex":
        """The same index in numbers of this kind; float16 changes a cosine by at most 0.0005."""
        rows = np.asarray(self.vectors).astype(numbers, copy=False)
        return replace(self, vectors=rows)

    def search(self, queries: Vectors, k: int) -> list[Ranked[Any]]:
        """The `k` most similar rows for every query: cosine in -1..1, ties by lower id.

        A query finds the same rows and scores alone and in any batch. faiss searches a batch with
        BLAS, which may round a score otherwise than it does for one query. So faiss only names
        candidates, more than `k`, and each candidate's score is computed again by itself. A query
        is searched again with more candidates until no other row can reach the rank `k`, whatever
        the rounding: that settles a tie at the border by id too.
        """
        results: list[Ranked[Any]] = [Ranked.empty() for _ in range(len(queries))]
        k = min(k, len(self.vectors))
        n_candidates = min(k + _SPARE, len(self.vectors))
        left = np.arange(len(queries) if k > 0 else 0)
        while len(left):
            unclear = []
            for rows in _blocks(left, n_candidates):
                ids, scores, clear = self._ranked(queries[rows], k, n_candidates)
                for place in np.flatnonzero(clear).tolist():
                    results[rows[place]] = Ranked(ids[place], scores[place])
                unclear.append(rows[~clear])
            left, n_candidates = np.concatenate(unclear), min(4 * n_candidates, len(self.vectors))
        return results

    def scores(self, query: Vectors) -> Vectors:
        """The similarity of every row to one query, float32 (n,)."""
        if in_memory(self.vectors):
            return np.asarray(self.vectors @ query, np.float32)
        scores = np.empty(len(self.vectors), np.float32)
        for start, block in blocks(self.vectors):
            scores[start : start + len(block)] = block @ query
        return scores

    def _ranked(
        self, queries: Vectors, k: int, n_candidates: int
    ) -> tuple[Ids, Vectors, NDArray[np.bool_]]:
        queries = np.ascontiguousarray(queries, np.float32)
        named, ids = nearest(queries, self.vectors, n_candidates)
        scores = products(queries, self.vectors, ids)
        rounded = np.round(scores.astype(np.float64), DECIMALS)
        order = np.lexsort((ids, -rounded), axis=-1)[:, :k]
        last = np.take_along_axis(rounded, order[:, -1:], axis=1)[:, 0]
        # a row that is no candidate has at most the last one's score, plus what rounding adds
        most = np.round(named[:, -1] + largest_difference(queries), DECIMALS)
        clear = (most < last) | (n_candidates == len(self.vectors))
        best = np.take_along_axis(ids, order, axis=1)
        return best, np.take_along_axis(scores, order, axis=1), clear

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        save_array(folder, "vectors", np.asarray(self.vectors))

    @classmethod
    def load(cls, folder: Path) -> "VectorIndex":
        """The index that `save` wrote, by memory map."""
        return cls(load_array(folder, "vectors"))


def _blocks(rows: Ids, n_candidates: int) -> list[Ids]:
    size = max(1, _MOST_CANDIDATES // n_candidates)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def nearest(queries: Vectors, rows: Array, k: int) -> tuple[Vectors, Ids]:
    """The `k` highest inner products of each query, best first, and their rows, (n, k) each.

    BLAS computes them for many queries at once: their last bits depend on the other queries.
    """
    import faiss

    if rows.dtype == np.float32:
        scores, ids = faiss.knn(
            queries, np.ascontiguousarray(rows), k, metric=faiss.METRIC_INNER_PRODUCT
        )
        return scores, ids
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    for start, block in blocks(rows):
        scores, ids = faiss.knn(
            queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT
        )
        best.add_result(scores, ids + start)
    best.finalize()
    return best.D, best.I


def products(queries: Vectors, rows: Array, ids: Ids) -> Vectors:
    """The inner product of each query with the rows named for it, float32 of the shape of `ids`.

    Each is computed by itself, so that it depends on its query and its row alone.
    """
    if in_memory(rows):
        return _products(queries, np.ascontiguousarray(rows), ids)
    scores = np.empty(ids.shape, np.float32)
    pairs = max(1, MOST_NUMBERS // max(1, rows.shape[1]))
    width = max(1, min(pairs, ids.shape[1]))
    for start in range(0, len(ids), pairs // width):
        some = slice(start, start + pairs // width)
        for first in range(0, ids.shape[1], width):
            part = ids[some, first : first + width]
            named = np.asarray(rows[part.ravel()], np.float32)
            places = np.arange(part.size, dtype=np.int64).reshape(part.shape)
            scores[some, first : first + width] = _products(queries[some], named, places)
    return scores


def largest_difference(queries: Vectors) -> NDArray[np.float64]:
    """How far two float32 inner products of each query with one unit row can lie apart, (n,).

    Each lies within n u / (1 - n u) times both norms of the true one in any order of adding, with
    n the dimension and u = 2**-24. Source: Higham 2002, section 3.1.
    """
    rounding = queries.shape[1] * 2.0**-24
    norms = np.linalg.norm(queries.astype(np.float64), axis=1)
    return np.asarray(2.01 * norms * rounding / (1 - rounding))


def in_memory(rows: Array) -> bool:
    """Whether rows can be read where they lie: an array or memory map of float32."""
    return rows.dtype == np.float32


def blocks(rows: Array) -> Iterator[tuple[int, Vectors]]:
    """The rows in blocks of float32, each with the number of its first row."""
    size = max(1, MOST_NUMBERS // max(1, rows.shape[1]))
    for start in range(0, len(rows), size):
        yield start, np.asarray(rows[start : start + size], np.float32)


def _products(queries: Vectors, rows: Vectors, ids: Ids) -> Vectors:
    import faiss

    scores = np.empty(ids.shape, np.float32)
    arrays = (faiss.swig_ptr(array) for array in (scores, queries, rows, ids))
    by_id: Any = faiss.fvec_inner_products_by_idx  # type: ignore[attr-defined]
    by_id(*arrays, queries.shape[1], *ids.shape)
    return scores
