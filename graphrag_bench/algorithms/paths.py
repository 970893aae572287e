"""Parts of a graph between nodes: shortest paths joined into walks, and the tree of best prizes."""

from collections.abc import Iterable, Sequence

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, Path


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
    remaining = dict.fromkeys(nodes)
    walks = []
    while remaining:
        walk = [next(iter(remaining))]
        del remaining[walk[0]]
        while remaining and (way := _nearest(graph, walk[-1], remaining, khop)):
            walk += way
            for node in way:
                remaining.pop(node, None)
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


def _nearest(graph: Graph, start: int, targets: Iterable[int], khop: int) -> list[int]:
    wanted = np.fromiter(targets, np.int64)
    distance: IntArray = np.full(graph.n_nodes, -1)
    distance[start] = 0
    frontier = np.array([start])
    for hops in range(1, khop + 1):
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


def triple(graph: Graph, row: int) -> tuple[str, str, str]:
    """Source, what joins them, and target of a row, in the direction that is stored.

    What joins them is the relation's name, else its keywords, else its description.
    """
    relation = graph.relations[row]
    for column in (graph.keywords, graph.facts):
        relation = relation or (column[row] if column else "")
    ends = int(graph.source[row]), int(graph.target[row])
    return graph.names[ends[0]], relation or "related to", graph.names[ends[1]]


DECAY = 0.01
"""How much less than the value before it a prize is at least (the constant c of G-retriever)."""


def relationship_prizes(similarities: FloatArray, n_values: int) -> FloatArray:
    """The prize of each relationship by its similarity, float64 in the order given.

    The best `n_values` distinct similarities (compared by six decimals) earn prizes, all others 0.
    The j-th best of k, counted from 0 and shared by n_j relationships, earns each of them
    min((k - j) / n_j, last - c): `last` is k at first and then (1 - c) times the prize before, c
    is 0.01. So (.9, .9, .7, .2, .1) with k = 3 earn (1.5, 1.5, 1.475, 1.0, 0).
    Source: G-retriever (He et al. 2024), section 5.3, and its released code.
    """
    rounded = np.round(similarities, DECIMALS)
    values = np.unique(rounded)[::-1][:n_values]
    prizes: FloatArray = np.zeros(len(rounded))
    last = float(n_values)
    for position, value in enumerate(values):
        having = rounded == value
        prize = min((n_values - position) / int(having.sum()), last - DECAY)
        prizes[having] = prize
        last = prize * (1 - DECAY)
    return prizes


def prized_subgraph(
    graph: Graph, node_prizes: FloatArray, prizes: FloatArray, cost: float
) -> tuple[IntArray, IntArray]:
    """The nodes and the relationship rows, ascending, of the prize-collecting Steiner tree.

    `node_prizes` is (n_nodes,), `prizes` (n_relationships,). Every row costs min(`cost`, the best
    prize of a row * (1 - c / 2)) where some row has a prize, else `cost`. A prize up to that
    lowers the row's cost; of a greater one the rest is the prize of a node put in the middle of
    the row, whose halves cost nothing. Rows from a node to itself are left out.
    Source: G-retriever (He et al. 2024), section 5.3, and its released code.
    """
    best = float(prizes.max(initial=0.0))
    cost = min(cost, best * (1 - DECAY / 2)) if best > 0 else cost
    rows = np.flatnonzero(graph.source != graph.target)
    ends = np.stack([graph.source[rows], graph.target[rows]], axis=1)
    rich = prizes[rows] > cost
    middles = graph.n_nodes + np.arange(rich.sum())
    halves = [np.stack([ends[rich][:, side], middles], axis=1) for side in (0, 1)]
    nodes, edges = prize_collecting_tree(
        np.concatenate([ends[~rich], *halves]),
        np.concatenate([node_prizes, prizes[rows][rich] - cost]),
        np.concatenate([cost - prizes[rows][~rich], np.zeros(2 * len(middles))]),
    )
    tree_nodes = np.array(nodes, np.int64)
    plain = np.array([edge for edge in edges if edge < len(rows) - len(middles)], np.int64)
    of_middles = rows[rich][tree_nodes[tree_nodes >= graph.n_nodes] - graph.n_nodes]
    chosen = np.union1d(rows[~rich][plain], of_middles)
    real = tree_nodes[tree_nodes < graph.n_nodes]
    return np.union1d(real, np.union1d(graph.source[chosen], graph.target[chosen])), chosen


def prize_collecting_tree(
    ends: IntArray, prizes: FloatArray, costs: FloatArray
) -> tuple[list[int], list[int]]:
    """Nodes and edges, ascending, of a tree that is cheap for the prizes it leaves.

    `ends` is int64 (n_edges, 2) without loops, `prizes` (n_nodes,) and `costs` (n_edges,) are at
    least 0. The costs of the tree and the prizes outside it are at most twice the least possible.
    Of equal trees the order of the edges decides, as in G-retriever's released code, which calls
    the same library. Without a prize the tree is empty.
    Source: Goemans & Williamson 1995; Hegde, Indyk & Schmidt 2014, by `pcst_fast` ("gw" pruning).
    """
    from pcst_fast import pcst_fast

    if not prizes.any():
        return [], []
    if not len(ends):
        return [int(prizes.argmax())], []
    nodes, edges = pcst_fast(ends, prizes, costs, -1, 1, "gw", 0)  # unrooted, one tree
    return np.sort(nodes).tolist(), np.sort(edges).tolist()
