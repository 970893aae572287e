"""Compiled search of the cheapest loopless paths of bounded length, for any cost of a hop."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.neighbours import Int32Array
from graphrag_bench.values import IntArray

FAR = 2**62


class Costs(NamedTuple):
    """Neighbours (`starts`, `nodes`), and the cost of each place in millionths, int64, above 0."""

    starts: Int32Array
    nodes: Int32Array
    cost: IntArray


@kernel
def least_costs(costs: Costs, target: int, most: int) -> IntArray:
    """The least cost of a walk of at most h hops from each node to the target, by h and node.

    Int64 (most + 1, n_nodes), `FAR` where no such walk is.
    """
    n_nodes = len(costs.starts) - 1
    least = np.full((most + 1, n_nodes), FAR, np.int64)
    least[0, target] = 0
    changed = np.array([target], np.int64)
    seen = np.full(n_nodes, -1, np.int64)
    for hops in range(1, most + 1):
        least[hops] = least[hops - 1]
        again = [np.int64(0) for _ in range(0)]
        for node in changed:
            for place in range(costs.starts[node], costs.starts[node + 1]):
                near = costs.nodes[place]
                total = least[hops - 1, node] + costs.cost[place]
                if total < least[hops, near]:
                    least[hops, near] = total
                    if seen[near] != hops:
                        seen[near] = hops
                        again.append(np.int64(near))
        changed = np.array(again, dtype=np.int64)
    return least


@kernel
def cheapest(
    costs: Costs, source: int, target: int, k: int, least: IntArray
) -> tuple[IntArray, IntArray]:
    """The cheapest loopless paths, with all that cost as much as the k-th, by rising cost.

    Places in `costs`, int64 (n_paths, most), -1 after the last; and the costs, int64 (n_paths,).
    `least` is what `least_costs` says of the target.
    """
    most = len(least) - 1
    paths = [np.empty(0, np.int64) for _ in range(0)]
    totals = [np.int64(0) for _ in range(0)]
    came = [np.int64(-1)]
    by = [np.int64(-1)]
    spent = [np.int64(0)]
    depth = [np.int64(0)]
    queue = [(least[most, source], np.int64(0))]
    while queue and queue[0][0] < FAR:
        bound, at = heapq.heappop(queue)
        if len(totals) >= k and bound > totals[k - 1]:
            break
        node = source if by[at] < 0 else np.int64(costs.nodes[by[at]])
        if node == target:
            path = np.full(most, -1, np.int64)
            step = at
            while by[step] >= 0:
                path[depth[step] - 1] = by[step]
                step = came[step]
            paths.append(path)
            totals.append(spent[at])
            continue
        hops = depth[at] + 1
        for place in range(costs.starts[node], costs.starts[node + 1]):
            near = costs.nodes[place]
            total = spent[at] + costs.cost[place]
            rest = least[most - hops, near]
            if rest >= FAR or near == source:
                continue
            step = at
            while by[step] >= 0 and costs.nodes[by[step]] != near:
                step = came[step]
            if by[step] >= 0:
                continue
            came.append(at)
            by.append(np.int64(place))
            spent.append(total)
            depth.append(hops)
            heapq.heappush(queue, (total + rest, np.int64(len(by) - 1)))
    found = np.full((len(paths), most), -1, np.int64)
    for row in range(len(paths)):
        found[row] = paths[row]
    return found, np.array(totals, dtype=np.int64)
