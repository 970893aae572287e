"""Hierarchical communities of a graph, and their reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.arrays import BoolArray, FloatArray, IntArray
from graphrag_bench.columns import Columns, Texts, row_ids


@dataclass(frozen=True, eq=False)
class Communities(Columns):
    """Communities at all levels, coarsest (0) first.

    Row i of the bool CSR matrices `nodes` and `chunks` marks the members of community i.
    """

    level: IntArray
    parent: IntArray  # -1 at level 0
    nodes: Any
    chunks: Any

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def occurrence(self) -> FloatArray:
        """Number of chunks of each community relative to the largest number, float64 (n,)."""
        counts = np.asarray(self.chunks.sum(axis=1), np.float64).ravel()
        return np.asarray(counts / max(counts.max(initial=0.0), 1.0), np.float64)


@dataclass(frozen=True, eq=False)
class Reports(Columns):
    """Reports of communities. A missing report is an empty text. Ratings are 0..10.

    `fallback` marks reports made from unreadable replies. `chunks` (bool CSR, n x n_chunks) marks
    the chunks that each report quotes, and is None for reports by a model.
    """

    titles: Texts
    texts: Texts
    ratings: FloatArray
    fallback: BoolArray | None = None
    chunks: Any = None

    def __len__(self) -> int:
        return len(self.texts)

    def chunks_of(self, community: int) -> tuple[int, ...]:
        """Return the chunks that a report quotes, ascending. For a report by a model, return ()."""
        return () if self.chunks is None else tuple(row_ids(self.chunks, community).tolist())

    @property
    def statistics(self) -> Mapping[str, float]:
        """Counts of communities, of communities without a report, and of unreadable replies."""
        n_fallback = 0 if self.fallback is None else int(np.count_nonzero(self.fallback))
        n_empty = int(np.count_nonzero(np.diff(self.texts.offsets) == 0))
        return {"communities": len(self), "without_report": n_empty, "unreadable": n_fallback}
