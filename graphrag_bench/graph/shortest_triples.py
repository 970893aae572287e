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
    chosen = np.zeros(len(source), bool)
    froms, tos = sorted(set(starts)), sorted(set(ends))
    hops = {
        (node, turned): _hops(*((target, source) if turned else (source, target)), n_nodes, node)
        for node in {*froms, *tos}
        for turned in (False, True)
    }
    for start in froms:
        for end in tos:
            ways = []
            for first, last in ((start, end), (end, start)):
                length = int(hops[first, False][last])
                if length > 0:
                    there, back = hops[first, False][source], hops[last, True][target]
                    on = (there >= 0) & (back >= 0) & (there + 1 + back == length)
                    ways.append((length, on))
            shortest = min((length for length, _ in ways), default=0)
            for length, on in ways:
                if length == shortest:
                    chosen |= on
    return chosen


def _hops(source: IntArray, target: IntArray, n_nodes: int, start: int) -> IntArray:
    """The fewest triples from a node to each other along their direction, -1 for none."""
    order = np.argsort(source, kind="stable")
    starts = np.searchsorted(source[order], np.arange(n_nodes + 1))
    far = target[order]
    hops = np.full(n_nodes, -1, np.int64)
    hops[start] = 0
    frontier, length = np.array([start], np.int64), 0
    while len(frontier):
        length += 1
        reached = [far[starts[node] : starts[node + 1]] for node in frontier.tolist()]
        found = np.unique(np.concatenate(reached))
        frontier = found[hops[found] < 0]
        hops[frontier] = length
    return hops
