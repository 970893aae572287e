"""Paths the slow, obvious way: what the compiled searches are tested against."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import networkx

from graphrag_bench.algorithms.graph import Graph

Near = Mapping[int, Sequence[int]]
"""The neighbours of each node of a graph."""
Walk = tuple[int, ...]
DECIMALS = 6
SLACK = 1e-12


def near_of(graph: Graph, *, outward: bool) -> Near:
    view = graph.outward if outward else graph.neighbours
    parts = zip(view.starts[:-1], view.starts[1:], strict=True)
    return {node: view.nodes[first:end].tolist() for node, (first, end) in enumerate(parts)}


# ---- PathRAG, specification 1.4 and 1.5


class Flow(NamedTuple):
    """Resource and level of every node reached, and the nodes that sent it on."""

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
    """The flow of one ordered pair."""
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
    """All simple paths whose nodes but the last are expanded."""
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
    """All alive paths between the nodes with their reliability, best first, each once."""
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
    """The lower of a walk and its reversal."""
    return min(walk, walk[::-1])


# ---- path pooling, specification 4.3 and 4.4

Triple = tuple[int, int]


def walks_of(triples: Sequence[Triple], start: int, longest: int) -> list[tuple[int, ...]]:
    """All simple paths from a node as positions of triples, of at most so many of them."""
    graph = networkx.MultiDiGraph()
    graph.add_node(start)
    graph.add_edges_from((*ends, position) for position, ends in enumerate(triples))
    walks = networkx.all_simple_edge_paths(graph, start, set(graph) - {start}, longest)
    return [tuple(position for *_, position in walk) for walk in walks]


def kernels_of(
    triples: Sequence[Triple], scores: Sequence[float], entities: Sequence[int], *,
    shortest: bool, per_entity: bool, longest: int,
) -> list[tuple[int, ...]]:  # fmt: skip
    """The kernels from and to the entities, each read along its triples."""
    result: list[tuple[int, ...]] = []
    for forward in (True, False):
        ways = list(triples) if forward else [(tail, head) for head, tail in triples]
        groups: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for number, entity in enumerate(entities):
            for walk in walks_of(ways, entity, longest):
                end = ways[walk[-1]][1]
                if shortest and not per_entity and end in entities:
                    continue
                kernel = walk if forward else walk[::-1]
                groups.setdefault((number if per_entity else 0, end), []).append(kernel)
        for group in groups.values():
            if shortest:
                result.append(min(group, key=lambda kernel: _preferred(kernel, scores)))
            else:
                result += group
    return result


def _preferred(kernel: tuple[int, ...], scores: Sequence[float]) -> tuple[int, int, Walk]:
    total = sum(round(scores[position] * 10**DECIMALS) for position in kernel)
    return len(kernel), -total, kernel


def pooled(
    triples: Sequence[Triple], scores: Sequence[float], entities: Sequence[int], *,
    shortest: bool = True, per_entity: bool = False, highest: bool = False, a: float = 1.0,
    longest: int = 9,
) -> list[float]:  # fmt: skip
    """The pooled score of every triple; those on no kernel are kernels by themselves."""
    kernels = kernels_of(
        triples, scores, entities, shortest=shortest, per_entity=per_entity, longest=longest
    )
    covered = {position for kernel in kernels for position in kernel}
    alone = [(position,) for position in range(len(scores)) if position not in covered]
    lowest = min(scores)
    best: dict[int, float] = {}
    for kernel in [*kernels, *alone]:
        values = [scores[position] for position in kernel]
        base = max(values) if highest else sum(values) / len(values)
        for index, position in enumerate(kernel, start=1):
            score = base + lowest / (index * a)
            best[position] = max(best.get(position, score), score)
    return [best[position] for position in range(len(scores))]
