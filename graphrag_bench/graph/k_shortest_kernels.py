"""Compiled loops of the shortest paths of unit cost between many pairs, of at most four hops.

Two hops from a node are listed once: a path of three hops is one of these and a neighbour of the
other end, a path of four hops joins the lists of both ends in the middle. All of it stands in this
one file, because numba's cache on disk sees no change in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.neighbours import Int32Array
from graphrag_bench.values import IntArray

Int8Array = NDArray[np.int8]


class Edges(NamedTuple):
    """Neighbours (`starts`, `nodes`, `rows`), and similarities in millionths, int32 (n_rows,)."""

    starts: Int32Array
    nodes: Int32Array
    rows: Int32Array
    similarity: Int32Array


class Best(NamedTuple):
    """The paths of each pair, and how many it has (`n_found`, int32 (n_pairs,)).

    `nodes` int32 (n_pairs, k, 5); `sums` of similarities int32, and `hops` int8, (n_pairs, k).
    """

    nodes: Int32Array
    sums: Int32Array
    hops: Int8Array
    n_found: Int32Array


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
    """Tables of some nodes, made when first asked for.

    `nodes` int32 (n,); table i may take up `begins[i]:begins[i + 1]` of `room`, `begins` int64
    (n + 1,); `sizes[i]` is how many nodes it reaches, int64 (n,), -1 until it is made.
    """

    nodes: Int32Array
    begins: IntArray
    sizes: IntArray
    room: TwoHops


@kernel
def tables_for(edges: Edges, nodes: Int32Array) -> Tables:
    """Room for the tables of these nodes, none made yet."""
    begins = np.zeros(len(nodes) + 1, np.int64)
    for at in range(len(nodes)):
        ways = 0
        for place in range(edges.starts[nodes[at]], edges.starts[nodes[at] + 1]):
            middle = edges.nodes[place]
            ways += edges.starts[middle + 1] - edges.starts[middle] - 1
        begins[at + 1] = begins[at] + ways
    n_ways = begins[-1]
    room = TwoHops(
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
        np.empty(n_ways, np.int32), np.empty(n_ways, np.int32), np.empty(n_ways, np.int32),
    )  # fmt: skip
    return Tables(nodes, begins, np.full(len(nodes), -1, np.int64), room)


@kernel
def _table(edges: Edges, tables: Tables, which: int, slot: Int32Array) -> TwoHops:
    """The table of a node; `slot` (n_nodes,) is -1 everywhere before and after."""
    begin, end, room = tables.begins[which], tables.begins[which + 1], tables.room
    table = TwoHops(
        room.reached[begin:end], room.best[begin:end], room.first[begin:end],
        room.middle[begin:end], room.sums[begin:end], room.after[begin:end],
    )  # fmt: skip
    if tables.sizes[which] < 0:
        tables.sizes[which] = _two_hops(edges, tables.nodes[which], table, slot)
    size = tables.sizes[which]
    return TwoHops(
        table.reached[:size], table.best[:size], table.first[:size],
        table.middle, table.sums, table.after,
    )  # fmt: skip


@kernel
def _two_hops(edges: Edges, node: int, table: TwoHops, slot: Int32Array) -> int:
    """The number of nodes that a table, written here, reaches."""
    starts, nodes, rows, similarity = edges
    way = n_reached = 0
    for place in range(starts[node], starts[node + 1]):
        middle, near = nodes[place], similarity[rows[place]]
        for onward in range(starts[middle], starts[middle + 1]):
            far = nodes[onward]
            if far == node:
                continue
            total = near + similarity[rows[onward]]
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


@kernel
def _note(slot: Int32Array, table: TwoHops, present: bool) -> None:
    """Write into `slot` where each node stands in the table, or -1 again."""
    for at in range(len(table.reached)):
        slot[table.reached[at]] = at if present else -1


@kernel
def _before(best: Best, pair: int, at: int, total: int, walk: Int32Array, hops: int) -> bool:
    """Whether a path of as many hops comes before the one at a place: sum, then node tuple."""
    if total != best.sums[pair, at]:
        return bool(total > best.sums[pair, at])
    for hop in range(hops + 1):
        if walk[hop] != best.nodes[pair, at, hop]:
            return bool(walk[hop] < best.nodes[pair, at, hop])
    return False


@kernel
def _add(best: Best, pair: int, total: int, walk: Int32Array, hops: int) -> None:
    """Put a path in its place among those of as many hops; those of fewer stay before it."""
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
    """The sum that a path of that many hops must reach to be kept."""
    k = best.sums.shape[1]
    if best.n_found[pair] < k:
        return -(2**31)
    return best.sums[pair, k - 1] if best.hops[pair, k - 1] == hops else 2**31


@kernel
def _oriented(walk: Int32Array, turned: bool, nodes: tuple[int, ...]) -> None:
    """Write the nodes of a path into `walk`, the other way round when `turned`."""
    hops = len(nodes) - 1
    for at in range(hops + 1):
        walk[hops - at if turned else at] = nodes[at]


@kernel
def up_to_two_hops(edges: Edges, pairs: Int32Array, most: int, best: Best) -> None:
    """The paths of one hop and, where these are not k and `most` allows, of two.

    `pairs` is (n_pairs, 4), sorted: two ends, whether the path leads from the second to the first,
    and the pair's place in `best`. It costs the degree of the second end, for each pair.
    """
    starts, nodes, rows, similarity = edges
    beside = np.full(len(starts) - 1, -1, np.int32)
    walk = np.empty(best.nodes.shape[2], np.int32)
    for at in range(len(pairs)):
        here, there, turned, pair = pairs[at]
        if at == 0 or pairs[at - 1, 0] != here:
            for place in range(starts[here], starts[here + 1]):
                beside[nodes[place]] = rows[place]
        if beside[there] >= 0:
            _oriented(walk, turned == 1, (here, there))
            _add(best, pair, similarity[beside[there]], walk, 1)
        if most >= 2 and best.n_found[pair] < best.sums.shape[1]:
            for place in range(starts[there], starts[there + 1]):
                middle = nodes[place]
                if beside[middle] >= 0:
                    total = similarity[beside[middle]] + similarity[rows[place]]
                    _oriented(walk, turned == 1, (here, middle, there))
                    _add(best, pair, total, walk, 2)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != here:
            for place in range(starts[here], starts[here + 1]):
                beside[nodes[place]] = -1


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
        table = _table(edges, tables, pairs[at, 0], slot)
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
def four_hops(edges: Edges, tables: Tables, pairs: Int32Array, best: Best) -> None:
    """The paths of four hops of each pair: two from either end.

    `pairs` as in `three_hops`; it costs the nodes two hops from the second end, for each pair.
    """
    slot = np.full(len(edges.starts) - 1, -1, np.int32)
    spare = np.full(len(edges.starts) - 1, -1, np.int32)
    for at in range(len(pairs)):
        wide = _table(edges, tables, pairs[at, 0], spare)
        narrow = _table(edges, tables, pairs[at, 1], spare)
        if at == 0 or pairs[at - 1, 0] != pairs[at, 0]:
            _note(slot, wide, True)
        ends = (tables.nodes[pairs[at, 0]], tables.nodes[pairs[at, 1]])
        _meetings(ends, pairs[at], wide, slot, narrow, best)
        if at + 1 == len(pairs) or pairs[at + 1, 0] != pairs[at, 0]:
            _note(slot, wide, False)


@kernel
def _meetings(
    ends: tuple[int, int], row: Int32Array, wide: TwoHops, slot: Int32Array, narrow: TwoHops,
    best: Best,
) -> None:  # fmt: skip
    """The paths of four hops between the ends, whose two hops `wide` and `narrow` list."""
    here, there = ends
    turned, pair = row[2] == 1, row[3]
    walk = np.empty(best.nodes.shape[2], np.int32)
    least = _least(best, pair, 4)
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
                if far not in (near, here):
                    _oriented(walk, turned, (here, near, middle, far, there))
                    _add(best, pair, wide.sums[way] + narrow.sums[onward], walk, 4)
                onward = narrow.after[onward]
            way = wide.after[way]
        least = _least(best, pair, 4)
