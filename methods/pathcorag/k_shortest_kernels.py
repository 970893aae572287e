"""Compiled searches of the best paths of at most four hops between many pairs.

Walks go on from the first end of a pair. Where one or two hops are left, the highest sum of
similarities that these may add prunes them; these bounds are listed once for each second end.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.values import IntArray

NOTHING = -(2**31)
"""Below every similarity."""


class Edges(NamedTuple):
    """Neighbours (`starts`, `nodes`), and in millionths the similarity of each, int32."""

    starts: Int32Array
    nodes: Int32Array
    similarity: Int32Array


class Best(NamedTuple):
    """The paths of each pair, and how many it has (`n_paths`, int32 (n_pairs,)).

    `nodes` int32 (n_pairs, k, 5); `sums` of similarities int32, and `hops` int8, (n_pairs, k).
    """

    nodes: Int32Array
    sums: Int32Array
    hops: NDArray[np.int8]
    n_paths: Int32Array


@kernel
def add_paths(edges: Edges, pairs: IntArray, order: IntArray, most: int, best: Best) -> None:
    """Add to `best` the paths of each pair (source, target) of 1, 2, ... `most` hops, 4 at most.

    A pair with k paths has no longer ones. `order` has the pairs sorted by target.
    """
    k = best.sums.shape[1]
    bounds = np.full((3, len(edges.starts) - 1), NOTHING, np.int64)
    walk, last = np.empty(5, np.int32), -1
    for pair in order:
        source, target = pairs[pair]
        if target != last:
            _list_bounds(edges, target, bounds)
            last = target
        for hops in range(1, most + 1):
            if best.n_paths[pair] < k and (hops > 2 or bounds[hops, source] > NOTHING):
                walk[0], walk[hops] = source, target
                _add_paths_of(edges, bounds, walk, hops, pair, best)


@kernel
def _list_bounds(edges: Edges, target: int, bounds: IntArray) -> None:
    """The highest sum of a way of 1 and of 2 hops from each node to the target."""
    bounds[:] = NOTHING
    for place in range(edges.starts[target], edges.starts[target + 1]):
        near = edges.nodes[place]
        bounds[1, near] = edges.similarity[place]
        for onward in range(edges.starts[near], edges.starts[near + 1]):
            total = bounds[1, near] + edges.similarity[onward]
            bounds[2, edges.nodes[onward]] = max(bounds[2, edges.nodes[onward]], total)


@kernel
def _add_paths_of(
    edges: Edges, bounds: IntArray, walk: Int32Array, hops: int, pair: int, best: Best
) -> None:
    k, target = best.sums.shape[1], walk[hops]
    places, sums = np.zeros(5, np.int64), np.zeros(5, np.int64)
    places[0], depth = edges.starts[walk[0]], 0
    while depth >= 0:
        node, left = walk[depth], hops - depth - 1
        if not left:
            _add(best, pair, sums[depth] + bounds[1, node], walk, hops)
        if not left or places[depth] == edges.starts[node + 1]:
            depth -= 1
            continue
        near, total = edges.nodes[places[depth]], sums[depth] + edges.similarity[places[depth]]
        places[depth] += 1
        if left <= 2:
            least = best.sums[pair, k - 1] if best.n_paths[pair] == k else NOTHING
            if bounds[left, near] == NOTHING or total + bounds[left, near] < least:
                continue
        on_walk = near == target
        for at in range(depth):
            on_walk = on_walk or walk[at] == near
        if not on_walk:
            depth += 1
            walk[depth], places[depth], sums[depth] = near, edges.starts[near], total


@kernel
def _before(best: Best, pair: int, at: int, total: int, walk: Int32Array, hops: int) -> bool:
    if total != best.sums[pair, at]:
        return bool(total > best.sums[pair, at])
    for hop in range(hops + 1):
        if walk[hop] != best.nodes[pair, at, hop]:
            return bool(walk[hop] < best.nodes[pair, at, hop])
    return False


@kernel
def _add(best: Best, pair: int, total: int, walk: Int32Array, hops: int) -> None:
    at, last = best.n_paths[pair], best.sums.shape[1] - 1
    if at <= last:
        best.n_paths[pair] = at + 1
    elif not _before(best, pair, last, total, walk, hops):
        return
    else:
        at = last
    while at and best.hops[pair, at - 1] == hops and _before(best, pair, at - 1, total, walk, hops):
        best.nodes[pair, at] = best.nodes[pair, at - 1]
        best.sums[pair, at] = best.sums[pair, at - 1]
        best.hops[pair, at] = hops
        at -= 1
    best.sums[pair, at], best.hops[pair, at] = total, hops
    best.nodes[pair, at, : hops + 1] = walk[: hops + 1]


@kernel
def shortest_way(
    starts: Int32Array, nodes: Int32Array, source: int, target: int,
    blocked: NDArray[np.bool_], banned: NDArray[np.bool_],
) -> Int32Array:  # fmt: skip
    """Return the nodes of the shortest way, ties by node tuple; empty where there is none.

    It passes no node that is `blocked`, (n_nodes,), and goes first to none that is `banned`.
    """
    lost = True
    for near in nodes[starts[source] : starts[source + 1]]:
        lost = lost and (blocked[near] or banned[near])
    if lost:
        return np.empty(0, np.int32)
    distance, queue = np.full(len(blocked), -1, np.int32), np.empty(len(blocked), np.int32)
    distance[target], queue[0] = 0, target
    done, seen, hops = 0, 1, -1
    while done < seen and hops < 0:
        node = queue[done]
        done += 1
        for near in nodes[starts[node] : starts[node + 1]]:
            if near == source and not banned[node]:
                hops = distance[node] + 1
            elif near != source and distance[near] < 0 and not blocked[near]:
                distance[near] = distance[node] + 1
                queue[seen] = near
                seen += 1
    way = np.empty(hops + 1, np.int32)
    for hop in range(hops + 1):
        way[hop] = source
        for near in nodes[starts[source] : starts[source + 1]]:
            if distance[near] == hops - hop - 1 and not (hop == 0 and banned[near]):
                source = near
                break
    return way
