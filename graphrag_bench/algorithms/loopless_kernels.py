"""Compiled searches of loopless paths of any length, or of any cost of a hop."""

import heapq

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.values import IntArray

FAR = 2**62


@kernel
def least_costs(
    starts: Int32Array, nodes: Int32Array, cost: IntArray, target: int, most: int
) -> IntArray:
    """The least cost of a walk of at most h hops from each node to the target, by h and node.

    `cost`, int64, is that of each place in millionths, above 0. Int64 (most + 1, n_nodes), `FAR`
    where no such walk is.
    """
    n_nodes = len(starts) - 1
    least = np.full((most + 1, n_nodes), FAR, np.int64)
    least[0, target] = 0
    changed = np.array([target], np.int64)
    seen = np.full(n_nodes, -1, np.int64)
    for hops in range(1, most + 1):
        least[hops] = least[hops - 1]
        again = [np.int64(0) for _ in range(0)]
        for node in changed:
            for place in range(starts[node], starts[node + 1]):
                near = nodes[place]
                total = least[hops - 1, node] + cost[place]
                if total < least[hops, near]:
                    least[hops, near] = total
                    if seen[near] != hops:
                        seen[near] = hops
                        again.append(np.int64(near))
        changed = np.array(again, dtype=np.int64)
    return least


@kernel
def cheapest(
    starts: Int32Array, nodes: Int32Array, cost: IntArray, source: int, target: int, k: int,
    least: IntArray,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """The cheapest loopless paths, with all that cost as much as the k-th, by rising cost.

    Places in `nodes`, int64 (n_paths, most), -1 after the last; and the costs, int64 (n_paths,).
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
        node = source if by[at] < 0 else np.int64(nodes[by[at]])
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
        for place in range(starts[node], starts[node + 1]):
            near = nodes[place]
            total = spent[at] + cost[place]
            rest = least[most - hops, near]
            if rest >= FAR or near == source:
                continue
            step = at
            while by[step] >= 0 and nodes[by[step]] != near:
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


@kernel
def shortest_loopless(
    starts: Int32Array, nodes: Int32Array, pairs: IntArray, k: int
) -> tuple[IntArray, IntArray, IntArray]:
    """The `k` shortest loopless paths of each pair, ties by node tuple.

    Their nodes, one path after the other, int64; how many nodes each has, and its pair, both int64
    (n_paths,). Yen's algorithm with Lawler's rule: of the paths that begin like a path found and
    then leave it, only the best waits, and a path is left no earlier than it left the one before.
    """
    n_nodes = len(starts) - 1
    distance, queue = np.full(n_nodes, -1, np.int64), np.empty(n_nodes, np.int64)
    blocked, banned = np.zeros(n_nodes, np.bool_), np.zeros(n_nodes, np.bool_)
    found = [np.empty(0, np.int64) for _ in range(0)]
    of = [np.int64(0) for _ in range(0)]
    for pair in range(len(pairs)):
        target = pairs[pair, 1]
        first = _way(starts, nodes, pairs[pair, 0], target, blocked, banned, distance, queue)
        waiting, left, taken = [first], [np.int64(0)], [len(first) == 0]
        before = len(found)
        while len(found) - before < k:
            best = -1
            for row in range(len(waiting)):
                if not taken[row] and (best < 0 or _shorter(waiting[row], waiting[best])):
                    best = row
            if best < 0:
                break
            taken[best] = True
            path = waiting[best]
            found.append(path)
            of.append(np.int64(pair))
            for at in range(len(path) - 1):
                if at >= left[best]:
                    _mark(found, before, path, at, banned, True)
                    way = _way(starts, nodes, path[at], target, blocked, banned, distance, queue)
                    _mark(found, before, path, at, banned, False)
                    if len(way):
                        waiting.append(np.concatenate((path[:at], way)))
                        left.append(np.int64(at))
                        taken.append(False)
                blocked[path[at]] = True
            for at in range(len(path) - 1):
                blocked[path[at]] = False
    sizes = np.empty(len(found), np.int64)
    for row in range(len(found)):
        sizes[row] = len(found[row])
    flat = np.empty(sizes.sum(), np.int64)
    end = 0
    for row in range(len(found)):
        flat[end : end + sizes[row]] = found[row]
        end += sizes[row]
    return flat, sizes, np.array(of, dtype=np.int64)


@kernel
def _mark(
    found: list[IntArray],
    before: int,
    path: IntArray,
    at: int,
    banned: NDArray[np.bool_],
    value: bool,
) -> None:
    for row in range(before, len(found)):
        other = found[row]
        same = len(other) > at + 1
        for place in range(at + 1):
            same = same and other[place] == path[place]
        if same:
            banned[other[at + 1]] = value


@kernel
def _way(
    starts: Int32Array,
    nodes: Int32Array,
    source: int,
    target: int,
    blocked: NDArray[np.bool_],
    banned: NDArray[np.bool_],
    distance: IntArray,
    queue: IntArray,
) -> IntArray:
    """The shortest way, ties by node tuple, over no blocked node and first to none banned.

    Empty where there is none. `distance` holds -1 before and after.
    """
    lost = True
    for place in range(starts[source], starts[source + 1]):
        near = nodes[place]
        lost = lost and (blocked[near] or banned[near])
    if lost:
        return np.empty(0, np.int64)
    distance[target], queue[0] = 0, target
    done, seen, hops = 0, 1, -1
    while done < seen and hops < 0:
        node = queue[done]
        done += 1
        for place in range(starts[node], starts[node + 1]):
            near = nodes[place]
            if near == source:
                if not banned[node]:
                    hops = distance[node] + 1
                    break
            elif distance[near] < 0 and not blocked[near]:
                distance[near] = distance[node] + 1
                queue[seen] = near
                seen += 1
    way = np.empty(hops + 1, np.int64)
    for hop in range(hops + 1):
        way[hop] = source
        for place in range(starts[source], starts[source + 1]):
            near = nodes[place]
            if distance[near] == hops - hop - 1 and not (hop == 0 and banned[near]):
                source = near
                break
    distance[queue[:seen]] = -1
    return way


@kernel
def _shorter(one: IntArray, other: IntArray) -> bool:
    if len(one) != len(other):
        return len(one) < len(other)
    for place in range(len(one)):
        if one[place] != other[place]:
            return bool(one[place] < other[place])
    return False
