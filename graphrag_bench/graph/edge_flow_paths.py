"""PathRAG's paths as its released code finds them: flow along edges, nothing pruned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from graphrag_bench.graph.flow_paths import Select, alive, selected
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import DECIMALS, Path

MOST_HOPS = 3
Walk = tuple[int, ...]
Hop = tuple[int, int]


def edge_flow_paths(
    graph: Graph,
    nodes: Sequence[int],
    alpha: float,
    threshold: float,
    top_k: int,
    select: Select = "reliability",
    seed: int = 0,
) -> list[Path]:
    """The paths with the highest mean flow along their edges, best first.

    All simple paths of up to three hops between two of the nodes, either way, compete. Score: the
    mean of w over the hops of a path, where w is what `edge_flow` says of its ordered pair. Paths
    over the same nodes count as one, the better; ties by fewer hops, then by the node tuple. At
    most `top_k` are kept, and at most half (rounded down) of those of one hop, of two and of three;
    `selected` says which.
    The row of a hop is the first of its pair.
    Deviation: successors are visited in order of id; the released code iterates over a set.
    Source: PathRAG (Chen et al. 2025), released code, `find_paths_and_edges_with_stats`.
    """
    from graphrag_bench.graph.flow_kernels import Rules

    everything = Rules(alpha, 0.0, MOST_HOPS, False, True, False, True)
    found = alive(graph, nodes, everything, "both").nodes.tolist()
    walks = sorted(tuple(node for node in row if node >= 0) for row in found)
    scored: list[tuple[Walk, float]] = []
    for walks_of_pair in _pairs(walks):
        flow = edge_flow(walks_of_pair, alpha, threshold)
        for walk in walks_of_pair:
            along = [flow.get(hop, 0.0) for hop in _hops(walk)]
            scored.append((walk, sum(along) / len(along)))
    scored.sort(key=lambda one: (-round(one[1], DECIMALS), len(one[0]), one[0]))
    first = {tuple(sorted(walk)): (walk, score) for walk, score in reversed(scored)}
    kept = sorted(first.values(), key=lambda one: (-round(one[1], DECIMALS), len(one[0]), one[0]))
    lengths = np.bincount([len(walk) - 1 for walk in walks], minlength=1)
    most = min(top_k, int((lengths // 2).sum()))
    ways = graph.neighbours
    rows = selected([len(walk) - 1 for walk, _ in kept], most, select, seed)
    return [Path(kept[row][0], ways.rows_along(kept[row][0]), kept[row][1]) for row in rows]


def edge_flow(walks: Sequence[Walk], alpha: float, threshold: float) -> Mapping[Hop, float]:
    """The flow along the edges of all walks of one ordered pair, which start with one node.

    The start sends 1 / (its successors) along each of them, undecayed. A node whose flow is above
    the threshold sends alpha * flow / (its successors) on, and so does the next, once more.
    Successors are those within these walks.
    """
    following: dict[int, set[int]] = {}
    for walk in walks:
        for here, there in _hops(walk):
            following.setdefault(here, set()).add(there)
    successors = {node: sorted(near) for node, near in following.items()}
    start, end = walks[0][0], walks[0][-1]
    flow: dict[Hop, float] = {(start, n): 1 / len(successors[start]) for n in successors[start]}
    for one in successors[start]:
        if one == end or flow[start, one] <= threshold:
            continue
        for two in successors[one]:
            sent = flow[start, one] * alpha / len(successors[one])
            flow[one, two] = flow.get((one, two), 0.0) + sent
            if two == end or flow[one, two] <= threshold:
                continue
            for three in successors[two]:
                sent = flow[one, two] * alpha / len(successors[two])
                flow[two, three] = flow.get((two, three), 0.0) + sent
    return flow


def _pairs(walks: Sequence[Walk]) -> Iterator[list[Walk]]:
    """The walks of each ordered pair of ends."""
    by_ends = sorted(walks, key=lambda walk: (walk[0], walk[-1], walk))
    for _, group in groupby(by_ends, key=lambda walk: (walk[0], walk[-1])):
        yield list(group)


def _hops(walk: Walk) -> list[Hop]:
    return list(zip(walk[:-1], walk[1:], strict=True))
