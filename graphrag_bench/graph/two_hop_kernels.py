"""Compiled tables of what is two hops from some nodes, with the similarity of the ways there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.graph.neighbours import Int32Array
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
