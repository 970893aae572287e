"""Compiled searches of the best paths of at most four hops between many pairs.

A path of h hops joins two half paths in the middle: (h + 1) // 2 hops from one end and h // 2 from
the other. The half paths of a node are listed once, in a table, for all pairs that it is in.
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


class Halves(NamedTuple):
    """The half paths from one node.

    `reached` lists their ends, `best` the highest sum of similarities of a way to each, `first` its
    first way; way i goes over `middle[i]` (-1: over no node), has the sum `sums[i]` and is followed
    by `after[i]`.
    """

    reached: Int32Array
    best: Int32Array
    first: Int32Array
    middle: Int32Array
    sums: Int32Array
    after: Int32Array


class Tables(NamedTuple):
    """The half paths of some nodes, of as many `hops`, 0 to 2.

    `nodes` int32 (n,); table i takes up `begins[i]:begins[i + 1]` of `room`, `begins` int64
    (n + 1,), at the most; `sizes[i]` is how many nodes it reaches, int64 (n,).
    """

    nodes: Int32Array
    hops: int
    begins: IntArray
    sizes: IntArray
    room: Halves


class Best(NamedTuple):
    """The paths of each pair, and how many it has (`n_paths`, int32 (n_pairs,)).

    `nodes` int32 (n_pairs, k, 5); `sums` of similarities int32, and `hops` int8, (n_pairs, k).
    """

    nodes: Int32Array
    sums: Int32Array
    hops: NDArray[np.int8]
    n_paths: Int32Array


@kernel
def count_ways(edges: Edges, nodes: Int32Array, hops: int) -> IntArray:
    """How many ways of so many hops leave each node, those back to it included, int64 (n,)."""
    counts = np.ones(len(nodes), np.int64)
    for at in range(len(nodes)):
        begin, end = edges.starts[nodes[at]], edges.starts[nodes[at] + 1]
        if hops:
            counts[at] = end - begin
        if hops == 2:
            counts[at] = 0
            for place in range(begin, end):
                middle = edges.nodes[place]
                counts[at] += edges.starts[middle + 1] - edges.starts[middle]
    return counts


@kernel
def tables_of(edges: Edges, nodes: Int32Array, hops: int, ways: IntArray) -> Tables:
    """The half paths of these nodes.

    `ways` is what `count_ways` says, or 0 for a node whose table is not needed and stays empty.
    """
    begins = np.zeros(len(nodes) + 1, np.int64)
    begins[1:] = np.cumsum(ways)
    n_ways = begins[-1]
    room = Halves(
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
    )  # fmt: skip
    tables = Tables(nodes, hops, begins, np.zeros(len(nodes), np.int64), room)
    slot = np.full(len(edges.starts) - 1, -1, np.int32)
    for which in range(len(nodes)):
        if begins[which] < begins[which + 1]:
            tables.sizes[which] = begins[which + 1] - begins[which]
            tables.sizes[which] = _list(edges, nodes[which], hops, _table(tables, which), slot)
    return tables


@kernel
def _table(tables: Tables, which: int) -> Halves:
    begin, end, room = tables.begins[which], tables.begins[which + 1], tables.room
    size = begin + tables.sizes[which]
    return Halves(
        room.reached[begin:size], room.best[begin:size], room.first[begin:size],
        room.middle[begin:end], room.sums[begin:end], room.after[begin:end],
    )  # fmt: skip


@kernel
def _list(edges: Edges, node: int, hops: int, table: Halves, slot: Int32Array) -> int:
    if hops == 0:
        table.reached[0], table.best[0], table.first[0] = node, 0, 0
        table.middle[0], table.sums[0], table.after[0] = -1, 0, -1
        return 1
    way = n_reached = 0
    for place in range(edges.starts[node], edges.starts[node + 1]):
        middle, near = edges.nodes[place], edges.similarity[place]
        if hops == 1:
            table.reached[way], table.best[way], table.first[way] = middle, near, way
            table.middle[way], table.sums[way], table.after[way] = -1, near, -1
            way += 1
            continue
        for onward in range(edges.starts[middle], edges.starts[middle + 1]):
            far, total = edges.nodes[onward], near + edges.similarity[onward]
            if far == node:
                continue
            at = slot[far]
            if at < 0:
                at = n_reached
                n_reached += 1
                slot[far] = at
                table.reached[at], table.best[at], table.first[at] = far, total, -1
            elif total > table.best[at]:
                table.best[at] = total
            table.middle[way], table.sums[way], table.after[way] = middle, total, table.first[at]
            table.first[at] = way
            way += 1
    for at in range(n_reached):
        slot[table.reached[at]] = -1
    return way if hops == 1 else n_reached


@kernel
def join(left: Tables, right: Tables, pairs: Int32Array, n_nodes: int, best: Best) -> None:
    """Add the paths of each pair that two half paths make.

    `pairs` is (n_pairs, 4), sorted: the places of two ends in the left and the right tables,
    whether the path leads from the second to the first, and the pair's place in `best`. It costs
    the nodes that the second end reaches, for each pair.
    """
    hops = left.hops + right.hops
    slot = np.full(n_nodes, -1, np.int32)
    nodes, walk = np.empty(4, np.int32), np.empty(5, np.int32)
    for at in range(len(pairs)):
        here, there = left.nodes[pairs[at, 0]], right.nodes[pairs[at, 1]]
        turned, pair = pairs[at, 2] == 1, pairs[at, 3]
        wide, narrow = _table(left, pairs[at, 0]), _table(right, pairs[at, 1])
        if at == 0 or pairs[at - 1, 0] != pairs[at, 0]:
            for place in range(len(wide.reached)):
                slot[wide.reached[place]] = place
        least = _least(best, pair, hops)
        for place in range(len(narrow.reached)):
            middle = narrow.reached[place]
            met = slot[middle]
            if met < 0 or wide.best[met] + narrow.best[place] < least:
                continue
            way = wide.first[met]
            while way >= 0:
                near = wide.middle[way]
                onward = narrow.first[place] if near != there else -1
                while onward >= 0:
                    far = narrow.middle[onward]
                    total = wide.sums[way] + narrow.sums[onward]
                    if total >= least and far != here and (far < 0 or far != near):
                        nodes[0], nodes[1], nodes[2], nodes[3] = here, near, middle, far
                        step = 0
                        for node in nodes:
                            if node >= 0 and node != there:
                                walk[hops - step if turned else step] = node
                                step += 1
                        walk[0 if turned else hops] = there
                        _add(best, pair, total, walk, hops)
                    onward = narrow.after[onward]
                way = wide.after[way]
            least = _least(best, pair, hops)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != pairs[at, 0]:
            for place in range(len(wide.reached)):
                slot[wide.reached[place]] = -1


@kernel
def _least(best: Best, pair: int, hops: int) -> int:
    k = best.sums.shape[1]
    if best.n_paths[pair] < k:
        return NOTHING
    return best.sums[pair, k - 1] if best.hops[pair, k - 1] == hops else 2**31


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
    elif best.hops[pair, last] < hops or not _before(best, pair, last, total, walk, hops):
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
