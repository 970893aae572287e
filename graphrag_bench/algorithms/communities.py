"""Communities of a graph, level 0 the coarsest, and the reports that describe them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.columns import Columns, Texts, row_ids
from graphrag_bench.values import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Communities(Columns):
    """Rows 0..n-1, coarse levels first; ids are unique across levels.

    `level` and `parent` are int64 (n,), the parent -1 at level 0. `nodes` is a bool CSR (n,
    n_nodes), `chunks` a bool CSR (n, n_chunks): the union of the chunks of its nodes.
    """

    level: IntArray
    parent: IntArray
    nodes: Any
    chunks: Any

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def occurrence(self) -> FloatArray:
        """The number of chunks of each, divided by the largest, float64 (n,) in 0..1."""
        counts = np.asarray(self.chunks.sum(axis=1), np.float64).ravel()
        return np.asarray(counts / max(counts.max(initial=0.0), 1.0), np.float64)


@dataclass(frozen=True, eq=False)
class Reports(Columns):
    """One report for each community row: title, text, and the rating of its impact, 0..10.

    A community without a report has an empty text; `ratings` is float64 (n,). `fallback`, bool
    (n,), flags those whose reply could not be read and is kept verbatim; None: there is no
    such row. `chunks` is a bool CSR (n, n_chunks): those of which a sentence stands in the text;
    None where a model wrote the texts.
    """

    titles: Texts
    texts: Texts
    ratings: FloatArray
    fallback: BoolArray | None = None
    chunks: Any = None

    def __len__(self) -> int:
        return len(self.texts)

    def chunks_of(self, community: int) -> tuple[int, ...]:
        """The chunks of which a sentence stands in a report, ascending; of a model's text none."""
        return () if self.chunks is None else tuple(row_ids(self.chunks, community).tolist())

    @property
    def statistics(self) -> Mapping[str, float]:
        """How many communities there are, have no report, and have a reply as it came."""
        n_fallback = 0 if self.fallback is None else int(np.count_nonzero(self.fallback))
        n_empty = int(np.count_nonzero(np.diff(self.texts.offsets) == 0))
        return {"communities": len(self), "without_report": n_empty, "unreadable": n_fallback}
