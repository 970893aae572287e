"""Top-k search by inner product over unit vectors: faiss over a memory map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import load_array, save_array
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.models.nearest import (
    Array,
    Ids,
    blocks,
    in_memory,
    largest_difference,
    nearest,
    products,
)
from graphrag_bench.values import DECIMALS, Ranked

StoredAs = Literal["float32", "float16"]

_SPARE = 16
_MOST_CANDIDATES = 2**22
"""Candidates of a block of queries, about 50 bytes each while they are ranked: 200 MB."""


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Unit rows, float32 or float16 (n, dimension); row i belongs to row i of its table.

    `statistics` tells how the texts fitted into the embedder's window, when the index was made.
    """

    vectors: Array
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.vectors)

    def stored_as(self, numbers: StoredAs) -> VectorIndex:
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
        found: list[Ranked[Any]] = [Ranked.empty() for _ in range(len(queries))]
        k = min(k, len(self.vectors))
        asked = min(k + _SPARE, len(self.vectors))
        left = np.arange(len(queries) if k > 0 else 0)
        while len(left):
            unclear = []
            for rows in _blocks(left, asked):
                ids, scores, clear = self._ranked(queries[rows], k, asked)
                for place in np.flatnonzero(clear).tolist():
                    found[rows[place]] = Ranked(ids[place], scores[place])
                unclear.append(rows[~clear])
            left, asked = np.concatenate(unclear), min(4 * asked, len(self.vectors))
        return found

    def scores(self, query: Vectors) -> Vectors:
        """The similarity of every row to one query, float32 (n,)."""
        if in_memory(self.vectors):
            return np.asarray(self.vectors @ query, np.float32)
        found = np.empty(len(self.vectors), np.float32)
        for start, block in blocks(self.vectors):
            found[start : start + len(block)] = block @ query
        return found

    def _ranked(
        self, queries: Vectors, k: int, asked: int
    ) -> tuple[Ids, Vectors, NDArray[np.bool_]]:
        queries = np.ascontiguousarray(queries, np.float32)
        named, ids = nearest(queries, self.vectors, asked)
        scores = products(queries, self.vectors, ids)
        rounded = np.round(scores.astype(np.float64), DECIMALS)
        order = np.lexsort((ids, -rounded), axis=-1)[:, :k]
        last = np.take_along_axis(rounded, order[:, -1:], axis=1)[:, 0]
        # a row that is no candidate has at most the last one's score, plus what rounding adds
        most = np.round(named[:, -1] + largest_difference(queries), DECIMALS)
        clear = (most < last) | (asked == len(self.vectors))
        best = np.take_along_axis(ids, order, axis=1)
        return best, np.take_along_axis(scores, order, axis=1), clear

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        save_array(folder, "vectors", np.asarray(self.vectors))

    @classmethod
    def load(cls, folder: Path) -> VectorIndex:
        """The index that `save` wrote, by memory map."""
        return cls(load_array(folder, "vectors"))


def _blocks(rows: Ids, asked: int) -> list[Ids]:
    size = max(1, _MOST_CANDIDATES // asked)
    return [rows[start : start + size] for start in range(0, len(rows), size)]
