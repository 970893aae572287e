"""Paths the slow, obvious way: what the compiled searches are tested against.

Graphs are mappings from a node to its neighbours, ascending; nothing is shared between two pairs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from graphrag_bench.algorithms.graph import Graph

Near = Mapping[int, Sequence[int]]
Walk = tuple[int, ...]
DECIMALS = 6
SLACK = 1e-12


class Lazy(dict[int, list[int]]):
    """The neighbours of a graph's nodes, read from it when first asked for."""

    def __init__(self, graph: Graph, *, outward: bool = False) -> None:
        super().__init__()
        self.view = graph.outward if outward else graph.neighbours

    def __missing__(self, node: int) -> list[int]:
        here = slice(self.view.starts[node], self.view.starts[node + 1])
        self[node] = self.view.nodes[here].tolist()
        return self[node]


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
    result, walks = [], [(start,)]
    while walks:
        walk = walks.pop()
        if len(walk) > max_hops or walk[-1] not in state.expanded:
            continue
        for node in near[walk[-1]]:
            if node not in walk:
                (result if node == end else walks).append((*walk, node))
    return result


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


# ---- PathCoRAG, specification 2.4


def simple_paths(near: Near, start: int, end: int, hops: int) -> Iterator[Walk]:
    """All simple paths of exactly so many hops, from 1 to 4, in no particular order.

    The last two hops are found by the common neighbours of two nodes.
    """
    if hops == 1:
        if end in near[start]:
            yield (start, end)
        return
    if hops == 2:
        last = set(near[end])
        yield from ((start, node, end) for node in near[start] if node in last and node != end)
        return
    for node in near[start]:
        if node != end:
            for rest in simple_paths(near, node, end, hops - 1):
                if start not in rest:
                    yield (start, *rest)


def fewest_hops(
    near: Near, start: int, end: int, similarity: Callable[[int, int], int], k: int, most: int
) -> list[tuple[Walk, int]]:
    """The k paths with the fewest hops, ties by the sum of similarities, then by node tuple."""
    result: list[tuple[Walk, int]] = []
    for hops in range(1, most + 1):
        if len(result) >= k:
            break
        scored = [
            (walk, sum(similarity(*hop) for hop in zip(walk[:-1], walk[1:], strict=True)))
            for walk in simple_paths(near, start, end, hops)
        ]
        result += sorted(scored, key=lambda one: (-one[1], one[0]))
    return result[:k]


# ---- path pooling, specification 4.3 and 4.4

Triple = tuple[int, int]


def walks_of(triples: Sequence[Triple], start: int, longest: int) -> list[tuple[int, ...]]:
    """All simple paths from a node as positions of triples, of at most so many of them."""
    result: list[tuple[int, ...]] = []
    open_walks: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), (start,))]
    while open_walks:
        walk, nodes = open_walks.pop()
        for position, (head, tail) in enumerate(triples):
            if head == nodes[-1] and tail not in nodes and len(walk) < longest:
                result.append((*walk, position))
                open_walks.append(((*walk, position), (*nodes, tail)))
    return result


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
