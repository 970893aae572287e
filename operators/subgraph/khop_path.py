"""The paths that join nodes within some hops."""

from collections.abc import Iterable

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.values import IntArray, Node, Path, Ranked, Subgraph, unique


@operator("subgraph.khop_path", table3="KhopPath")
def khop_path(nodes: Ranked[Node], *, graph: Graph, khop: PositiveInt = 2) -> Subgraph:
    """The paths that join the nodes within `khop` hops of each other, and what lies on them.

    A path starts at the first remaining node, continues to the nearest other one (ties by lower
    id, of equally short ways the one through lower ids), and ends when none is within reach; its
    nodes are then no longer remaining. A hop is the first row of its pair; synonymy edges count. A
    node that reaches no other gives no path, and no path contains another. Every node costs one
    breadth-first search at most.
    The released code of Zhou et al. effectively runs khop 5.
    Source: Zhou et al. 2025, section 6.1, subgraph "KhopPath"; DALK (Li et al. 2024), section 3.2.
    """
    remaining = dict.fromkeys(nodes.ids.tolist())
    walks = []
    while remaining:
        walk = [next(iter(remaining))]
        del remaining[walk[0]]
        while remaining and (way := way_to_nearest(graph, walk[-1], remaining, khop)):
            walk += way
            for node in way:
                remaining.pop(node, None)
        if len(walk) > 1:
            walks.append(tuple(walk))
    paths = tuple(Path(walk, graph.neighbours.rows_along(walk)) for walk in walks)
    rows = unique([row for path in paths for row in path.relationships])
    return Subgraph(unique([node for walk in walks for node in walk]), rows, paths)


def way_to_nearest(graph: Graph, start: int, targets: Iterable[int], most: int) -> list[int]:
    """Return the nodes behind `start` on the way to the nearest target, at most `most` hops away.

    Ties by lower id, also of the nodes on the way; empty where no target is within reach.
    """
    wanted = np.fromiter(targets, np.int64)
    distance: IntArray = np.full(graph.n_nodes, -1)
    distance[start] = 0
    frontier = np.array([start])
    for hops in range(1, most + 1):
        near = np.unique(graph.adjacency[frontier].indices)
        frontier = near[distance[near] < 0]
        distance[frontier] = hops
        reached = wanted[distance[wanted] == hops]
        if len(reached):
            return _way_back(graph, distance, int(reached.min()))
        if not len(frontier):
            break
    return []


def _way_back(graph: Graph, distance: IntArray, end: int) -> list[int]:
    way: list[int] = []
    while distance[end]:
        way.append(end)
        near = row_ids(graph.adjacency, end)
        end = int(near[distance[near] == distance[end] - 1][0])
    return way[::-1]
