"""The neighbours of every node as flat arrays, with the relationship row that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.values import IntArray

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbours of each node, each once and ascending; no node is its own.

    Those of node v are `nodes[starts[v]:starts[v + 1]]`, int32 (n_places,); `rows`, int32
    (n_places,), is the first relationship row that leads to each; `starts` is int32 (n_nodes + 1,).
    """

    starts: Int32Array
    nodes: Int32Array
    rows: Int32Array

    @classmethod
    def along(cls, here: IntArray, there: IntArray, n_nodes: int) -> Neighbours:
        """The neighbours `there` of `here` by rows (n_relationships,), in their direction."""
        rows = np.flatnonzero(here != there)
        codes, first = np.unique(here[rows] * max(n_nodes, 1) + there[rows], return_index=True)
        counts = np.bincount(codes // max(n_nodes, 1), minlength=n_nodes)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            (codes % max(n_nodes, 1)).astype(np.int32),
            rows[first].astype(np.int32),
        )

    @classmethod
    def joined(cls, source: IntArray, target: IntArray, rows: IntArray, n_nodes: int) -> Neighbours:
        """The neighbours by distinct pairs of nodes and the first row of each, int64 (n_pairs,)."""
        from scipy.sparse import csr_matrix

        kept = source != target
        marks = (rows[kept] + 1).astype(np.int32)  # 0 is no entry
        half = csr_matrix((marks, (source[kept], target[kept])), shape=(n_nodes, n_nodes))
        both = (half + half.T).tocsr()
        both.sort_indices()
        starts, nodes = both.indptr.astype(np.int32), both.indices.astype(np.int32)
        return cls(starts, nodes, both.data - np.int32(1))

    def rows_along(self, walk: Sequence[int]) -> tuple[int, ...]:
        """The row of every hop of a walk; raises KeyError for a hop that is none."""
        rows = []
        for here, there in pairwise(walk):
            begin, end = self.starts[here], self.starts[here + 1]
            place = begin + int(np.searchsorted(self.nodes[begin:end], there))
            if place == end or self.nodes[place] != there:
                raise KeyError(f"no relationship leads from node {here} to node {there}")
            rows.append(int(self.rows[place]))
        return tuple(rows)
