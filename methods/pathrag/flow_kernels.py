"""Compiled loops of flow pruning: the flow of one start, and the paths that it leaves alive."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.values import FloatArray

NOBODY = -1
SLACK = 1e-12
"""How far below the threshold a share must lie, so that the last bits of a float never prune."""


class Rules(NamedTuple):
    """How resource flows: numbers and switches of the path retrieval of PathRAG.

    `count_start` counts the start's resource in the score of a path.
    """

    alpha: float
    theta: float
    max_hops: int
    expand_target: bool = False
    count_start: bool = True


class Flow(NamedTuple):
    """What a flow leaves at the nodes, each (n_nodes,): level -1 and resource 0 where it is not.

    `touched` lists the nodes in the order in which they were reached.
    """

    level: NDArray[np.int8]
    resource: FloatArray
    expanded: NDArray[np.bool_]
    touched: Int32Array


class Ways(NamedTuple):
    """The neighbours that each node leads to (`starts`, `nodes`), and which nodes are `wanted`."""

    starts: Int32Array
    nodes: Int32Array
    wanted: NDArray[np.bool_]


class PathRows(NamedTuple):
    """Paths as rows, in no order.

    `nodes` are (n, max_hops + 1), -1 after the last of a path, `scores` float64 (n,).
    """

    nodes: Int32Array
    scores: FloatArray


@kernel
def flow_from(ways: Ways, start: int, end: int, rules: Rules, flow: Flow) -> int:
    """The number of nodes that the flow from `start` reached, noted in `flow`; `end` keeps all."""
    starts, nodes, touched = ways.starts, ways.nodes, flow.touched
    flow.level[start] = 0
    flow.resource[start] = 1.0
    touched[0] = start
    begin, n_touched = 0, 1
    for level in range(1, rules.max_hops + 1):
        last = n_touched
        for at in range(begin, last):
            node = touched[at]
            degree = starts[node + 1] - starts[node]
            if node == end or degree == 0:
                continue
            share = flow.resource[node] / degree
            if share < rules.theta - SLACK and node != start:
                continue
            flow.expanded[node] = True
            for place in range(starts[node], starts[node + 1]):
                near = nodes[place]
                if flow.level[near] < 0:
                    flow.level[near] = level
                    touched[n_touched] = near
                    n_touched += 1
                if flow.level[near] == level:
                    flow.resource[near] += rules.alpha * share
        begin = last
    return n_touched


@kernel
def _forget(flow: Flow, n_touched: int) -> None:
    for at in range(n_touched):
        node = flow.touched[at]
        flow.level[node] = -1
        flow.resource[node] = 0.0
        flow.expanded[node] = False


@kernel
def _grown(paths: PathRows) -> PathRows:
    n_paths, width = paths.nodes.shape
    nodes = np.full((2 * n_paths, width), -1, np.int32)
    scores = np.empty(2 * n_paths)
    for row in range(n_paths):  # slices take numba four seconds more to compile
        scores[row] = paths.scores[row]
        for hop in range(width):
            nodes[row, hop] = paths.nodes[row, hop]
    return PathRows(nodes, scores)


@kernel
def _paths_from(
    ways: Ways, start: int, only: int, rules: Rules, flow: Flow, paths: PathRows, n_paths: int
) -> tuple[PathRows, int]:
    """The paths with those from `start`, and their number.

    They end at `only` (-1: at every wanted node that was not expanded).
    """
    walk = np.empty(rules.max_hops + 1, np.int32)
    places, sums = np.empty(rules.max_hops + 1, np.int64), np.empty(rules.max_hops + 1)
    walk[0], places[0] = start, ways.starts[start]
    sums[0] = 1.0 if rules.count_start else 0.0
    depth = 0 if flow.expanded[start] else -1
    while depth >= 0:
        if places[depth] == ways.starts[walk[depth] + 1]:
            depth -= 1
            continue
        near = ways.nodes[places[depth]]
        places[depth] += 1
        on_walk = False
        for at in range(depth + 1):
            on_walk = on_walk or walk[at] == near
        if on_walk:
            continue
        walk[depth + 1], total = near, sums[depth] + flow.resource[near]
        ends = near == only if only >= 0 else rules.expand_target or not flow.expanded[near]
        if ends and ways.wanted[near]:
            if n_paths == len(paths.scores):
                paths = _grown(paths)
            for hop in range(depth + 2):
                paths.nodes[n_paths, hop] = walk[hop]
            paths.scores[n_paths] = total / (depth + 1)
            n_paths += 1
        if flow.expanded[near] and depth + 1 < rules.max_hops:
            depth += 1
            places[depth], sums[depth] = ways.starts[near], total
    return paths, n_paths


@kernel
def unpruned_paths(ways: Ways, rules: Rules) -> PathRows:
    """Every alive path between two of the wanted nodes, both ways.

    A flow depends on its end only where the end would send resource on. So one flow, that of
    NOBODY, serves all ends that it does not expand, and each of the others has a flow of its own.
    """
    n_nodes = len(ways.wanted)
    wanted: Int32Array = np.flatnonzero(ways.wanted).astype(np.int32)
    flow = Flow(
        np.full(n_nodes, -1, np.int8),
        np.zeros(n_nodes),
        np.zeros(n_nodes, np.bool_),
        np.empty(n_nodes, np.int32),
    )
    paths = PathRows(np.full((1024, rules.max_hops + 1), -1, np.int32), np.empty(1024))
    n_paths = 0
    ends = np.empty(len(wanted) + 1, np.int32)
    for start in wanted:
        ends[0], n_ends, at = NOBODY, 1, 0
        while at < n_ends:
            n_touched = flow_from(ways, start, ends[at], rules, flow)
            paths, n_paths = _paths_from(ways, start, ends[at], rules, flow, paths, n_paths)
            if at == 0 and not rules.expand_target:
                for end in wanted:
                    if end != start and flow.expanded[end]:
                        ends[n_ends] = end
                        n_ends += 1
            _forget(flow, n_touched)
            at += 1
    return PathRows(paths.nodes[:n_paths], paths.scores[:n_paths])
