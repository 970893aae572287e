"""Compiled loops of the shortest paths of unit cost between many pairs, of at most four hops.

A path of three hops is two hops from one end and a neighbour of the other; a path of four joins
the two hops of both ends in the middle. The two hops of a node are listed once, in a table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.values import IntArray

NOTHING = -(2**31)
"""Below every similarity."""


class Edges(NamedTuple):
    """Neighbours (`starts`, `nodes`, `rows`), and similarities in millionths, int32 (n_rows,).

    `along` int32 (n_places,) holds them in the order of the places, for the nodes that are `known`,
    bool (n_nodes,), and `top` int32 (n_nodes,) the highest at each of these: filled when needed.
    """

    starts: Int32Array
    nodes: Int32Array
    rows: Int32Array
    similarity: Int32Array
    along: Int32Array
    top: Int32Array
    known: NDArray[np.bool_]


class TwoHops(NamedTuple):
    """The nodes two hops from one node, and the ways there.

    `reached` lists the nodes, `best` the highest sum of similarities of a way to each, `first` its
    first way; way i goes over `middle[i]`, has the sum `sums[i]` and is followed by `after[i]`.
    """

    reached: Int32Array
    best: Int32Array
    first: Int32Array
    middle: Int32Array
    sums: Int32Array
    after: Int32Array


class Tables(NamedTuple):
    """Tables of two hops of some nodes.

    `nodes` int32 (n,); table i takes up `begins[i]:begins[i + 1]` of `room`, `begins` int64
    (n + 1,), at the most; `sizes[i]` is how many nodes it reaches, int64 (n,).
    """

    nodes: Int32Array
    begins: IntArray
    sizes: IntArray
    room: TwoHops


@kernel
def count_ways(edges: Edges, nodes: Int32Array) -> IntArray:
    """How many ways of two hops leave each node, those back to it included, int64 (n,)."""
    counts = np.zeros(len(nodes), np.int64)
    for at in range(len(nodes)):
        for place in range(edges.starts[nodes[at]], edges.starts[nodes[at] + 1]):
            middle = edges.nodes[place]
            counts[at] += edges.starts[middle + 1] - edges.starts[middle]
    return counts


@kernel
def _know(edges: Edges, node: int) -> None:
    if edges.known[node]:
        return
    top = NOTHING
    for place in range(edges.starts[node], edges.starts[node + 1]):
        edges.along[place] = edges.similarity[edges.rows[place]]
        top = max(top, edges.along[place])
    edges.top[node] = top
    edges.known[node] = True


@kernel
def highest_sum(edges: Edges, nodes: Int32Array) -> int:
    """No way of two hops from one of these nodes has a higher sum of similarities."""
    highest = NOTHING
    for node in nodes:
        _know(edges, node)
        for place in range(edges.starts[node], edges.starts[node + 1]):
            _know(edges, edges.nodes[place])
            highest = max(highest, edges.along[place] + edges.top[edges.nodes[place]])
    return highest


@kernel
def tables_of(edges: Edges, nodes: Int32Array, ways: IntArray, floor: int) -> Tables:
    """The tables of these nodes, of the ways with a sum of at least `floor`.

    `ways` is what `count_ways` says, or 0 for a node whose table is not needed and stays empty.
    """
    begins = np.zeros(len(nodes) + 1, np.int64)
    begins[1:] = np.cumsum(ways)
    n_ways = begins[-1]
    room = TwoHops(
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
    )  # fmt: skip
    tables = Tables(nodes, begins, np.zeros(len(nodes), np.int64), room)
    slot = np.full(len(edges.starts) - 1, -1, np.int32)
    for which in range(len(nodes)):
        begin, end = begins[which], begins[which + 1]
        if begin < end:
            table = TwoHops(
                room.reached[begin:end], room.best[begin:end], room.first[begin:end],
                room.middle[begin:end], room.sums[begin:end], room.after[begin:end],
            )  # fmt: skip
            tables.sizes[which] = _list(edges, nodes[which], floor, table, slot)
    return tables


@kernel
def _list(edges: Edges, node: int, floor: int, table: TwoHops, slot: Int32Array) -> int:
    way = n_reached = 0
    _know(edges, node)
    for place in range(edges.starts[node], edges.starts[node + 1]):
        middle, near = edges.nodes[place], edges.along[place]
        _know(edges, middle)
        if near + edges.top[middle] < floor:
            continue
        for onward in range(edges.starts[middle], edges.starts[middle + 1]):
            far, total = edges.nodes[onward], near + edges.along[onward]
            if total < floor or far == node:
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
    return n_reached


class Best(NamedTuple):
    """The paths of each pair, and how many it has (`n_found`, int32 (n_pairs,)).

    `nodes` int32 (n_pairs, k, 5); `sums` of similarities int32, and `hops` int8, (n_pairs, k).
    """

    nodes: Int32Array
    sums: Int32Array
    hops: NDArray[np.int8]
    n_found: Int32Array


@kernel
def _table(tables: Tables, which: int) -> TwoHops:
    begin, end, room = tables.begins[which], tables.begins[which + 1], tables.room
    size = begin + tables.sizes[which]
    return TwoHops(
        room.reached[begin:size], room.best[begin:size], room.first[begin:size],
        room.middle[begin:end], room.sums[begin:end], room.after[begin:end],
    )  # fmt: skip


@kernel
def _note(slot: Int32Array, table: TwoHops, present: bool) -> None:
    for at in range(len(table.reached)):
        slot[table.reached[at]] = at if present else -1


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
    k = best.sums.shape[1]
    count = best.n_found[pair]
    if count == k:
        last = k - 1
        if best.hops[pair, last] < hops or not _before(best, pair, last, total, walk, hops):
            return
        at = last
    else:
        at = count
        best.n_found[pair] = count + 1
    while at and best.hops[pair, at - 1] == hops and _before(best, pair, at - 1, total, walk, hops):
        best.nodes[pair, at] = best.nodes[pair, at - 1]
        best.sums[pair, at] = best.sums[pair, at - 1]
        best.hops[pair, at] = hops
        at -= 1
    best.sums[pair, at], best.hops[pair, at] = total, hops
    for hop in range(hops + 1):
        best.nodes[pair, at, hop] = walk[hop]


@kernel
def _least(best: Best, pair: int, hops: int) -> int:
    k = best.sums.shape[1]
    if best.n_found[pair] < k:
        return -(2**31)
    return best.sums[pair, k - 1] if best.hops[pair, k - 1] == hops else 2**31


@kernel
def _oriented(walk: Int32Array, turned: bool, nodes: tuple[int, ...]) -> None:
    hops = len(nodes) - 1
    for at in range(hops + 1):
        walk[hops - at if turned else at] = nodes[at]


@kernel
def up_to_two_hops(edges: Edges, pairs: Int32Array, most: int, best: Best) -> None:
    """The paths of one hop and, where these are not k and `most` allows, of two.

    `pairs` is (n_pairs, 4), sorted: two ends, whether the path leads from the second to the first,
    and the pair's place in `best`. It costs the degree of the second end, for each pair.
    """
    starts, nodes, rows, similarity = edges.starts, edges.nodes, edges.rows, edges.similarity
    joining = np.full(len(starts) - 1, -1, np.int32)
    walk = np.empty(best.nodes.shape[2], np.int32)
    for at in range(len(pairs)):
        here, there, turned, pair = pairs[at]
        if at == 0 or pairs[at - 1, 0] != here:
            for place in range(starts[here], starts[here + 1]):
                joining[nodes[place]] = rows[place]
        if joining[there] >= 0:
            _oriented(walk, turned == 1, (here, there))
            _add(best, pair, similarity[joining[there]], walk, 1)
        if most >= 2 and best.n_found[pair] < best.sums.shape[1]:
            for place in range(starts[there], starts[there + 1]):
                middle = nodes[place]
                if joining[middle] >= 0:
                    total = similarity[joining[middle]] + similarity[rows[place]]
                    _oriented(walk, turned == 1, (here, middle, there))
                    _add(best, pair, total, walk, 2)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != here:
            for place in range(starts[here], starts[here + 1]):
                joining[nodes[place]] = -1


@kernel
def three_hops(edges: Edges, tables: Tables, pairs: Int32Array, best: Best) -> None:
    """The paths of three hops of each pair: two from the first end, one from the second.

    `pairs` is (n_pairs, 4), sorted: places of two ends in the tables, whether the path leads from
    the second to the first, and the pair's place in `best`.
    """
    slot = np.full(len(edges.starts) - 1, -1, np.int32)
    walk = np.empty(best.nodes.shape[2], np.int32)
    for at in range(len(pairs)):
        here, there = tables.nodes[pairs[at, 0]], tables.nodes[pairs[at, 1]]
        turned, pair = pairs[at, 2] == 1, pairs[at, 3]
        table = _table(tables, pairs[at, 0])
        if at == 0 or pairs[at - 1, 0] != pairs[at, 0]:
            _note(slot, table, True)
        least = _least(best, pair, 3)
        for place in range(edges.starts[there], edges.starts[there + 1]):
            near, hop = edges.nodes[place], edges.similarity[edges.rows[place]]
            if slot[near] < 0 or table.best[slot[near]] + hop < least:
                continue
            way = table.first[slot[near]]
            while way >= 0:
                if table.middle[way] != there:
                    _oriented(walk, turned, (here, table.middle[way], near, there))
                    _add(best, pair, table.sums[way] + hop, walk, 3)
                way = table.after[way]
            least = _least(best, pair, 3)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != pairs[at, 0]:
            _note(slot, table, False)


@kernel
def four_hops(tables: Tables, pairs: Int32Array, floor: int, n_nodes: int, best: Best) -> None:
    """The paths of four hops of each pair with a sum of at least `floor`: two from either end.

    `pairs` as in `three_hops`; it costs the nodes two hops from the second end, for each pair.
    """
    slot = np.full(n_nodes, -1, np.int32)
    for at in range(len(pairs)):
        wide, narrow = _table(tables, pairs[at, 0]), _table(tables, pairs[at, 1])
        if at == 0 or pairs[at - 1, 0] != pairs[at, 0]:
            _note(slot, wide, True)
        ends = (tables.nodes[pairs[at, 0]], tables.nodes[pairs[at, 1]])
        _meetings(ends, pairs[at], wide, slot, narrow, floor, best)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != pairs[at, 0]:
            _note(slot, wide, False)


@kernel
def _meetings(
    ends: tuple[int, int], row: Int32Array, wide: TwoHops, slot: Int32Array, narrow: TwoHops,
    floor: int, best: Best,
) -> None:  # fmt: skip
    here, there = ends
    turned, pair = row[2] == 1, row[3]
    walk = np.empty(best.nodes.shape[2], np.int32)
    least = max(floor, _least(best, pair, 4))
    for place in range(len(narrow.reached)):
        middle = narrow.reached[place]
        met = slot[middle]
        if met < 0 or wide.best[met] + narrow.best[place] < least or middle in (here, there):
            continue
        way = wide.first[met]
        while way >= 0:
            near = wide.middle[way]
            onward = narrow.first[place] if near != there else -1
            while onward >= 0:
                far = narrow.middle[onward]
                total = wide.sums[way] + narrow.sums[onward]
                if far not in (near, here) and total >= least:
                    _oriented(walk, turned, (here, near, middle, far, there))
                    _add(best, pair, total, walk, 4)
                onward = narrow.after[onward]
            way = wide.after[way]
        least = max(floor, _least(best, pair, 4))
