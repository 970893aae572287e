"""Inner products of queries with rows in float32 or float16: the highest ones, and those named.

Rows of float32 are read where they lie, so that a memory map is not copied. Rows of float16 are
turned into float32 in blocks of at most `MOST_NUMBERS` numbers, 32 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.models.embedder import Vectors

MOST_NUMBERS = 2**23

Ids = NDArray[np.int64]
Array = NDArray[np.floating[Any]]


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
    found = np.empty(ids.shape, np.float32)
    pairs = max(1, MOST_NUMBERS // max(1, rows.shape[1]))
    width = max(1, min(pairs, ids.shape[1]))
    for start in range(0, len(ids), pairs // width):
        some = slice(start, start + pairs // width)
        for first in range(0, ids.shape[1], width):
            part = ids[some, first : first + width]
            named = np.asarray(rows[part.ravel()], np.float32)
            places = np.arange(part.size, dtype=np.int64).reshape(part.shape)
            found[some, first : first + width] = _products(queries[some], named, places)
    return found


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

    found = np.empty(ids.shape, np.float32)
    arrays = (faiss.swig_ptr(array) for array in (found, queries, rows, ids))
    by_id: Any = faiss.fvec_inner_products_by_idx  # type: ignore[attr-defined]
    by_id(*arrays, queries.shape[1], *ids.shape)
    return found
