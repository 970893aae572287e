"""Top-k search by inner product over memory-mapped unit vectors, with faiss."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.arrays import DECIMALS, IntArray
from graphrag_bench.columns import NOT_STORED, Columns
from graphrag_bench.embedding.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.embedding.precision import has_cuda
from graphrag_bench.progress import Progress
from graphrag_bench.values import Ranked

_EXTRA_CANDIDATES = 16
_MAX_CANDIDATES = 2**22
"""Maximum number of candidates per block of queries (200 MB, or 50 bytes per candidate)."""
LEAST_PRODUCTS = 2**28
"""Minimum number of multiplications for which a GPU is used. Starting the GPU also takes time."""
_AT_ONCE = 2**26
"""Maximum number of similarity scores in GPU memory at the same time (256 MB)."""


class DeviceRows:
    """Copy of the vectors of an index on a torch device, used to find candidates."""

    def __init__(self, rows: Vectors, device: str = "cuda") -> None:
        import torch

        self._rows: Any = torch.tensor(rows, dtype=torch.float32, device=device)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, IntArray]:
        """Return the `k` highest scores per query and their rows. Ties are broken arbitrarily."""
        import torch

        wanted = torch.tensor(queries, dtype=torch.float32, device=self._rows.device)
        size = max(k, _AT_ONCE // max(len(wanted), 1))
        best = torch.empty((len(wanted), 0), device=wanted.device)
        ids = torch.empty((len(wanted), 0), dtype=torch.int64, device=wanted.device)
        for start in range(0, len(self._rows), size):
            part = wanted @ self._rows[start : start + size].T
            here, place = part.topk(min(k, part.shape[1]))
            every, named = torch.cat([best, here], 1), torch.cat([ids, place + start], 1)
            best, place = every.topk(min(k, every.shape[1]))
            ids = named.gather(1, place)
        return best.cpu().numpy(), ids.cpu().numpy()

    def at_least(self, queries: Vectors, least: float, most: int) -> tuple[IntArray, ...] | None:
        """Return the pairs (query, row) with a score >= `least`, or None for over `most` pairs."""
        import torch

        wanted = torch.tensor(queries, dtype=torch.float32, device=self._rows.device)
        near = wanted @ self._rows.T >= least
        if int(near.sum()) > most:
            return None
        return tuple(part.cpu().numpy() for part in near.nonzero(as_tuple=True))


def rows_on_gpu(rows: Vectors) -> DeviceRows | None:
    """Copy vectors to a GPU. If there is no suitable GPU or torch uses TF32, return None."""
    if not has_cuda():
        return None
    import torch

    free, _ = torch.cuda.mem_get_info()
    exact = torch.get_float32_matmul_precision() == "highest"
    return DeviceRows(rows) if exact and free > rows.nbytes + 16 * _AT_ONCE else None


@dataclass(frozen=True, eq=False)
class VectorIndex(Columns):
    """Index of unit vectors, float32 (n, dimension). A loaded index has no `statistics`."""

    vectors: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_STORED)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Vectors, k: int) -> list[Ranked[Any]]:
        """For each query, return the `k` rows of the index with the highest cosine (-1..1).

        Ties are broken by the lower row number. First, faiss or a GPU finds more than `k`
        candidates. Then each score is computed separately, because the rounding of batched products
        depends on the other queries. If rounding might hide a better row, the query is searched
        again with more candidates.
        """
        results: list[Ranked[Any]] = [Ranked.empty() for _ in range(len(queries))]
        k = min(k, len(self.vectors))
        n_candidates = min(k + _EXTRA_CANDIDATES, len(self.vectors))
        todo = np.arange(len(queries) if k > 0 else 0)
        while len(todo):
            unclear, size = [], max(1, _MAX_CANDIDATES // n_candidates)
            for start in range(0, len(todo), size):
                rows = todo[start : start + size]
                ids, scores, clear = self._ranked(queries[rows], k, n_candidates)
                for place in np.flatnonzero(clear).tolist():
                    results[rows[place]] = Ranked(ids[place], scores[place])
                unclear.append(rows[~clear])
            todo, n_candidates = np.concatenate(unclear), min(4 * n_candidates, len(self.vectors))
        return results

    def scores(self, query: Vectors) -> Vectors:
        """Return the cosine between one query vector and each vector of the index, float32 (n,)."""
        return np.asarray(self.vectors @ query, np.float32)

    @cached_property
    def _on_gpu(self) -> DeviceRows | None:
        return rows_on_gpu(self.vectors)

    def _ranked(self, queries: Vectors, k: int, n_candidates: int) -> tuple[Any, Any, Any]:
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.size * len(self.vectors) >= LEAST_PRODUCTS and self._on_gpu is not None:
            named, ids = self._on_gpu.nearest(queries, n_candidates)
        else:
            import faiss

            rows = np.ascontiguousarray(self.vectors, np.float32)
            named, ids = faiss.knn(queries, rows, n_candidates, metric=faiss.METRIC_INNER_PRODUCT)
        scores = products(queries, self.vectors, ids)
        rounded = np.round(scores.astype(np.float64), DECIMALS)
        order = np.lexsort((ids, -rounded), axis=-1)[:, :k]
        last = np.take_along_axis(rounded, order[:, -1:], axis=1)[:, 0]
        # Two float32 products with a unit vector may differ by their errors. In any order of
        # summation, an error is at most n u / (1 - n u) times the norms, where n is the dimension
        # and u is 2**-24 (Higham 2002, section 3.1).
        rounding = queries.shape[1] * 2.0**-24
        norms = np.linalg.norm(queries.astype(np.float64), axis=1)
        # an upper bound of the scores of all other rows
        most = np.round(named[:, -1] + 2.01 * norms * rounding / (1 - rounding), DECIMALS)
        clear = (most < last) | (n_candidates == len(self.vectors))
        best = np.take_along_axis(ids, order, axis=1)
        return best, np.take_along_axis(scores, order, axis=1), clear


def index_texts(
    texts: Sequence[str], embedder: Embedder, progress: Progress, what: str
) -> VectorIndex:
    """Embed texts and return an index of the vectors. The number of long texts is reported."""
    with progress.task(f"embedding {what}", len(set(texts))) as advance:
        vectors = encode_in_blocks(texts, embedder, advance)
    lengths = embedder.text_lengths(texts)
    if lengths.n_long:
        progress.say(lengths.message(what))
    return VectorIndex(vectors, {"what": what, **asdict(lengths)})


def products(queries: Vectors, rows: Vectors, ids: IntArray) -> Vectors:
    """Compute the inner products of each query with its rows `ids` (n_queries, k) one by one."""
    import faiss

    rows = np.ascontiguousarray(rows, np.float32)
    scores = np.empty(ids.shape, np.float32)
    arrays = (faiss.swig_ptr(array) for array in (scores, queries, rows, ids))
    by_id: Any = faiss.fvec_inner_products_by_idx  # type: ignore[attr-defined]
    by_id(*arrays, queries.shape[1], *ids.shape)
    return scores
