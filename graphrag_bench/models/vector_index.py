"""Exact top-k search by inner product over unit vectors, with faiss, from a memory map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.columns import load_array, save_array
from graphrag_bench.models.embedder import Vectors
from graphrag_bench.values import DECIMALS, Ranked

_SPARE = 16


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Unit rows, float32 (n, dimension); row i belongs to row i of the table it indexes.

    `statistics` tells how the texts fitted into the embedder's window, when the index was made.
    """

    vectors: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of vectors."""
        return len(self.vectors)

    def search(self, queries: Vectors, k: int) -> list[Ranked[Any]]:
        """The `k` most similar rows for every query: cosine in -1..1, ties by lower id.

        A tie at the border is settled by id too: faiss is asked for more until the border is clear.
        """
        if not len(self.vectors) or not len(queries) or k < 1:
            return [Ranked.empty() for _ in range(len(queries))]
        return [self._search_one(query, min(k, len(self.vectors))) for query in queries]

    def scores(self, query: Vectors) -> Vectors:
        """The similarity of every row to one query, float32 (n,)."""
        return np.asarray(self.vectors @ query, np.float32)

    def _search_one(self, query: Vectors, k: int) -> Ranked[Any]:
        import faiss

        asked = k
        while True:
            asked = min(max(asked, k) + _SPARE, len(self.vectors))
            scores, ids = faiss.knn(
                np.ascontiguousarray(query[None]),
                self.vectors,
                asked,
                metric=faiss.METRIC_INNER_PRODUCT,
            )
            found = np.round(scores[0].astype(np.float64), DECIMALS)
            if asked == len(self.vectors) or found[-1] < found[k - 1]:
                order = np.lexsort((ids[0], -found))[:k]
                return Ranked(ids[0][order], scores[0][order])
            asked *= 2

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        save_array(folder, "vectors", self.vectors)

    @classmethod
    def load(cls, folder: Path) -> VectorIndex:
        """The index that `save` wrote, by memory map."""
        return cls(load_array(folder, "vectors"))
