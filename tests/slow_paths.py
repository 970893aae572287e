"""PathRAG's flow in plain Python, the reference of the compiled one."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import networkx

from graphrag_bench.algorithms.graph import Graph

Near = Mapping[int, Sequence[int]]
"""Neighbours of each node."""
Walk = tuple[int, ...]
DECIMALS = 6
SLACK = 1e-12


def near_of(graph: Graph, *, outward: bool) -> Near:
    view = graph.out_neighbours if outward else graph.neighbours
    parts = zip(view.starts[:-1], view.starts[1:], strict=True)
    return {node: view.nodes[first:end].tolist() for node, (first, end) in enumerate(parts)}


class Flow(NamedTuple):
    """Resource and level of the nodes reached, and the nodes that passed it on."""

    resource: dict[int, float]
    level: dict[int, int]
    expanded: set[int]


def flow(
    near: Near,
    start: int,
    end: int,
    *,
    alpha: float,
    theta: float,
    max_hops: int,
    expand_target: bool = False,
) -> Flow:
    """Return the flow between an ordered pair of nodes."""
    result = Flow({start: 1.0}, {start: 0}, set())
    frontier = [start]
    for level in range(1, max_hops + 1):
        pending: dict[int, float] = {}
        for node in frontier:
            if (node == end and not expand_target) or not near[node]:
                continue
            share = result.resource[node] / len(near[node])
            if share < theta - SLACK and node != start:
                continue
            result.expanded.add(node)
            for other in near[node]:
                if other not in result.level:
                    pending[other] = pending.get(other, 0.0) + alpha * share
        result.resource.update(pending)
        result.level.update(dict.fromkeys(pending, level))
        frontier = list(pending)
    return result


def alive(near: Near, start: int, end: int, state: Flow, max_hops: int) -> list[Walk]:
    """Return the simple paths whose nodes, except the last, are expanded."""
    walks = networkx.all_simple_paths(networkx.DiGraph(near), start, end, max_hops)
    return [tuple(walk) for walk in walks if set(walk[:-1]) <= state.expanded]


def flow_paths(
    near: Near,
    nodes: Sequence[int],
    *,
    alpha: float,
    theta: float,
    max_hops: int,
    expand_target: bool = False,
    count_start: bool = True,
    node_set: bool = False,
) -> list[tuple[Walk, float]]:
    """Return the distinct alive paths between the nodes with reliability, best first."""
    every: list[tuple[Walk, float]] = []
    for start, end in permutations(sorted(set(nodes)), 2):
        rules = {"alpha": alpha, "theta": theta, "max_hops": max_hops}
        state = flow(near, start, end, **rules, expand_target=expand_target)
        for walk in alive(near, start, end, state, max_hops):
            total = sum(state.resource[node] for node in walk[0 if count_start else 1 :])
            every.append((walk, round(total / (len(walk) - 1), DECIMALS)))
    every.sort(key=lambda one: (-one[1], len(one[0]), lower(one[0]), one[0] != lower(one[0])))
    first: dict[Walk, tuple[Walk, float]] = {}
    for walk, score in every:
        first.setdefault(tuple(sorted(walk)) if node_set else lower(walk), (walk, score))
    return list(first.values())


def lower(walk: Walk) -> Walk:
    """Return the lower of a walk and its reversal."""
    return min(walk, walk[::-1])
