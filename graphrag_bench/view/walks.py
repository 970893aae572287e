"""The likeliest walks over a graph from a question's seeds: what joins them to its passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import IntArray

Vertex = tuple[str, int]
"""A node ("n", row) or a chunk ("c", row)."""
_HOP = float(np.log(2))
"""The cost of a hop beside that of its choice: at each, half of the walkers start again."""
_MOST = float(np.log(1e6))
"""The cost of a walk that one in a million walkers takes; one that fewer take is none."""


@dataclass(frozen=True)
class Walks:
    """The likeliest walk to each vertex, nodes before chunks; `before` is the vertex before it.

    `before` int32 (n_nodes + n_chunks,) is negative at a seed and where no walk leads.
    """

    before: IntArray
    n_nodes: int

    @classmethod
    def of(cls, graph: Graph, seeds: Sequence[int], *, through_chunks: bool) -> "Walks":
        """Return the walks that start at one of the nodes `seeds` and go over the graph.

        A walk takes a relationship in proportion to its weight, whichever way it points. It ends at
        a chunk, or leaves it by any node in it with `through_chunks`. Seeds out of range start
        none.
        """
        from scipy.sparse.csgraph import dijkstra

        costs, n_nodes = _costs(graph, through_chunks)
        starts = [seed for seed in seeds if 0 <= seed < n_nodes]
        if not starts:
            return cls(np.full(costs.shape[0], -1), n_nodes)
        _, before, _ = dijkstra(
            costs, indices=starts, min_only=True, return_predecessors=True, limit=_MOST
        )
        return cls(before, n_nodes)

    def to(self, last: Vertex) -> list[Vertex]:
        """Return the walk that ends at a vertex; the vertex alone where none leads to it."""
        walk, (kind, row) = [last], last
        vertex = row if kind == "n" else self.n_nodes + row
        while 0 <= vertex < len(self.before) and (vertex := int(self.before[vertex])) >= 0:
            walk.append(("n", vertex) if vertex < self.n_nodes else ("c", vertex - self.n_nodes))
        return walk[::-1]


@lru_cache(maxsize=1)
def _costs(graph: Graph, through_chunks: bool) -> tuple[Any, int]:
    """The cost of each hop, CSR over nodes and chunks, and the number of nodes."""
    from scipy.sparse import block_array, csr_array

    inside = csr_array(graph.node_chunk)
    n_nodes, n_chunks = inside.shape
    nodes = csr_array(graph.adjacency)
    if through_chunks:
        shares = _shares(block_array([[nodes, inside], [inside.T, None]], format="csr"))
    else:
        certain = inside.astype(bool).astype(np.float64)
        empty = csr_array((n_chunks, n_chunks))
        shares = block_array([[_shares(nodes), certain], [None, empty]], format="csr")
    shares.data = _HOP - np.log(shares.data)
    return shares, n_nodes


def _shares(weights: Any) -> Any:
    """Weights as shares of their row."""
    shares = weights.astype(np.float64)
    sums = np.asarray(shares.sum(axis=1)).ravel()
    shares.data /= np.repeat(sums, np.diff(shares.indptr))
    return shares
