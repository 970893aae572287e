"""Top-k search by inner product over unit vectors: faiss over a memory map, which is not copied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import NOT_STORED, Columns
from graphrag_bench.embedding.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.progress import Progress
from graphrag_bench.values import DECIMALS, IntArray, Ranked

_SPARE = 16
_MOST_CANDIDATES = 2**22
"""Candidates of a block of queries, about 50 bytes each while they are ranked: 200 MB."""


@dataclass(frozen=True, eq=False)
class VectorIndex(Columns):
    """Unit rows, float32 (n, dimension); row i belongs to row i of its table.

    `statistics` tells how the texts fitted into the embedder's window, when the index was made.
    """

    vectors: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_STORED)

    def __len__(self) -> int:
        return len(self.vectors)

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
        todo = np.arange(len(queries) if k > 0 else 0)
        while len(todo):
            unclear = []
            for rows in _blocks(todo, n_candidates):
                ids, scores, clear = self._ranked(queries[rows], k, n_candidates)
                for place in np.flatnonzero(clear).tolist():
                    results[rows[place]] = Ranked(ids[place], scores[place])
                unclear.append(rows[~clear])
            todo, n_candidates = np.concatenate(unclear), min(4 * n_candidates, len(self.vectors))
        return results

    def scores(self, query: Vectors) -> Vectors:
        """The similarity of every row to one query, float32 (n,)."""
        return np.asarray(self.vectors @ query, np.float32)

    def _ranked(
        self, queries: Vectors, k: int, n_candidates: int
    ) -> tuple[IntArray, Vectors, NDArray[np.bool_]]:
        import faiss

        queries = np.ascontiguousarray(queries, np.float32)
        rows = np.ascontiguousarray(self.vectors, np.float32)
        named, ids = faiss.knn(queries, rows, n_candidates, metric=faiss.METRIC_INNER_PRODUCT)
        scores = products(queries, self.vectors, ids)
        rounded = np.round(scores.astype(np.float64), DECIMALS)
        order = np.lexsort((ids, -rounded), axis=-1)[:, :k]
        last = np.take_along_axis(rounded, order[:, -1:], axis=1)[:, 0]
        # a row that is no candidate has at most the last one's score, plus what rounding adds
        most = np.round(named[:, -1] + largest_difference(queries), DECIMALS)
        clear = (most < last) | (n_candidates == len(self.vectors))
        best = np.take_along_axis(ids, order, axis=1)
        return best, np.take_along_axis(scores, order, axis=1), clear


def index_texts(
    texts: Sequence[str], embedder: Embedder, progress: Progress, what: str
) -> VectorIndex:
    """Return the index of the vectors of some texts; reports texts longer than the window."""
    with progress.task(f"embedding {what}", len(set(texts))) as advance:
        vectors = encode_in_blocks(texts, embedder, advance)
    fit = embedder.fit(texts)
    if fit.n_long:
        progress.say(fit.message(what))
    return VectorIndex(vectors, {"what": what, **fit.row})


def _blocks(rows: IntArray, n_candidates: int) -> list[IntArray]:
    size = max(1, _MOST_CANDIDATES // n_candidates)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def products(queries: Vectors, rows: Vectors, ids: IntArray) -> Vectors:
    """The inner product of each query with the rows named for it, float32 of the shape of `ids`.

    Each is computed by itself, so that it depends on its query and its row alone.
    """
    import faiss

    rows = np.ascontiguousarray(rows, np.float32)
    scores = np.empty(ids.shape, np.float32)
    arrays = (faiss.swig_ptr(array) for array in (scores, queries, rows, ids))
    by_id: Any = faiss.fvec_inner_products_by_idx  # type: ignore[attr-defined]
    by_id(*arrays, queries.shape[1], *ids.shape)
    return scores


def largest_difference(queries: Vectors) -> NDArray[np.float64]:
    """How far two float32 inner products of each query with one unit row can lie apart, (n,).

    Each lies within n u / (1 - n u) times both norms of the true one in any order of adding, with
    n the dimension and u = 2**-24. Source: Higham 2002, section 3.1.
    """
    rounding = queries.shape[1] * 2.0**-24
    norms = np.linalg.norm(queries.astype(np.float64), axis=1)
    return np.asarray(2.01 * norms * rounding / (1 - rounding))
