"""Shortest paths between chosen nodes, joined into walks, and the triples along them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import IntArray, Path

Levels = list[tuple[IntArray, IntArray]]
"""The nodes at each distance from a start, sorted, and the parent of each."""


def khop_paths(graph: Graph, nodes: Iterable[int], khop: int) -> list[Path]:
    """Walks that join nodes within `khop` hops of each other, in the order of their starts.

    The first node left starts a walk: it goes to the nearest other node left, on from there, and
    ends when none is within `khop` hops; nodes on the way are no longer left. Hops are unweighted;
    of equally near nodes the lower id is taken, of equally short ways the one through lower ids.
    A hop is the first row of its pair. A node that reaches none gives no walk, and no walk lies
    within another, which the paper would have merged. Every node given costs one breadth-first
    search at most.
    Source: Zhou et al. 2025, section 6.1, "KhopPath"; DALK (Li et al. 2024), section 3.2.
    """
    left = dict.fromkeys(nodes)
    walks = []
    while left:
        walk = [next(iter(left))]
        del left[walk[0]]
        while left and (way := _nearest(graph, walk[-1], left, khop)):
            walk += way
            for node in way:
                left.pop(node, None)
        if len(walk) > 1:
            walks.append(tuple(walk))
    return [Path(walk, graph.neighbours.rows_along(walk)) for walk in walks]


def path_through(graph: Graph, nodes: Sequence[int], max_hops: int | None = None) -> list[Path]:
    """The shortest way from each node to the next, joined as long as there is one.

    Hops are unweighted; of equally short ways the one through lower ids is taken. Where the next
    node is more than `max_hops` away (None: where no way leads to it), a path ends and the next
    one starts there; a path may be one node alone.
    Every node costs one breadth-first search at most.
    Source: HiRAG (Huang et al. 2025), its release: reasoning path through key entities.
    """
    most = graph.n_nodes if max_hops is None else max_hops
    walks: list[list[int]] = []
    for node in dict.fromkeys(nodes):
        way = _nearest(graph, walks[-1][-1], [node], most) if walks else []
        if way:
            walks[-1] += way
        else:
            walks.append([node])
    return [Path(tuple(walk), graph.neighbours.rows_along(walk)) for walk in walks]


def _nearest(graph: Graph, start: int, left: Iterable[int], khop: int) -> list[int]:
    wanted = np.sort(np.fromiter(left, np.int64))
    first: IntArray = np.array([start])
    levels = [(first, first)]
    for _ in range(khop):
        found, parents = _spread(graph, levels)
        if not len(found):
            break
        levels.append((found, parents))
        reached = found[_among(found, wanted)]
        if len(reached):
            return _way_back(levels, int(reached[0]))
    return []


def _spread(graph: Graph, levels: Levels) -> tuple[IntArray, IntArray]:
    """The unseen neighbours of the last level, sorted, and their lowest parents.

    What a level leads to lies in it, in the one before or in none yet, because hops go both ways.
    """
    frontier, _ = levels[-1]
    near = graph.adjacency[frontier]
    parents = np.repeat(frontier, np.diff(near.indptr))
    found, first = np.unique(near.indices.astype(np.int64), return_index=True)
    unseen = ~np.logical_or.reduce([_among(found, nodes) for nodes, _ in levels[-2:]])
    return found[unseen], parents[first[unseen]]


def _among(nodes: IntArray, others: IntArray) -> NDArray[np.bool_]:
    places = np.searchsorted(others, nodes)
    return np.asarray(others[np.minimum(places, len(others) - 1)] == nodes)


def _way_back(levels: Levels, end: int) -> list[int]:
    way = []
    for nodes, parents in levels[:0:-1]:
        way.append(end)
        end = int(parents[np.searchsorted(nodes, end)])
    return way[::-1]


def triple(graph: Graph, row: int) -> tuple[str, str, str]:
    """Source, what joins them, and target of a row, in the direction that is stored.

    What joins them is the relation's name, else its keywords, else its description.
    """
    said = graph.relations[row]
    for column in (graph.keywords, graph.facts):
        said = said or (column[row] if column else "")
    ends = int(graph.source[row]), int(graph.target[row])
    return graph.names[ends[0]], said or "related to", graph.names[ends[1]]
