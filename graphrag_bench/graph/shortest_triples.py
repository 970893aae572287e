"""The triples on a shortest path between two sets of nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.values import IntArray


def on_shortest_paths(
    source: IntArray, target: IntArray, n_nodes: int, starts: Iterable[int], ends: Iterable[int]
) -> NDArray[np.bool_]:
    """Which triples lie on a shortest path between a start and an end, bool (n_triples,).

    For each pair of a start and an end, the paths along the triples' direction from the one to the
    other and back are compared; the shorter way counts, both when they are equally long. A pair
    that is not joined, or is one node, gives none.
    Source: SubgraphRAG (Li et al. 2025), section 3.1; their labels, from RoG (Luo et al. 2024).
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    chosen = np.zeros(len(source), bool)
    froms, tos = sorted(set(starts)), sorted(set(ends))
    if not froms or not tos:
        return chosen
    nodes = sorted({*froms, *tos})
    along = csr_matrix((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    hops, back = (
        dict(zip(nodes, dijkstra(matrix, indices=nodes, unweighted=True), strict=True))
        for matrix in (along, along.T)
    )
    for start in froms:
        for end in tos:
            ways = []
            for first, last in ((start, end), (end, start)):
                length = hops[first][last]
                if 0 < length < np.inf:
                    on = hops[first][source] + 1 + back[last][target] == length
                    ways.append((length, on))
            shortest = min((length for length, _ in ways), default=0)
            for length, on in ways:
                if length == shortest:
                    chosen |= on
    return chosen
