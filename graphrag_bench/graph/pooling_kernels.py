"""Compiled loops of path pooling: the kernels of a few hundred triples, and their best scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphrag_bench.graph.compiled import kernel
from graphrag_bench.values import FloatArray, IntArray


class Triples(NamedTuple):
    """Triples by base rank: ends (n,) numbered from 0, scores (n,), and the same in millionths.

    The triples that leave node v are `by_head[head_starts[v]:head_starts[v + 1]]`, by rank; those
    that enter it are in `by_tail`.
    """

    head: IntArray
    tail: IntArray
    scores: FloatArray
    millionths: IntArray
    by_head: IntArray
    head_starts: IntArray
    by_tail: IntArray
    tail_starts: IntArray


class Pooling(NamedTuple):
    """`highest`: maximum instead of mean; `step`: the lowest score divided by the constant a."""

    highest: bool
    step: float


@kernel
def pool_kernel(triples: Triples, walk: IntArray, length: int, pooling: Pooling,
                best: FloatArray) -> None:  # fmt: skip
    """Raise the best score of each triple of one kernel, the first `length` of `walk`."""
    base = 0.0
    for at in range(length):
        score = triples.scores[walk[at]]
        base = max(base, score) if pooling.highest else base + score
    if not pooling.highest:
        base /= length
    for at in range(length):
        score = base + pooling.step / (at + 1)
        best[walk[at]] = max(best[walk[at]], score)


@kernel
def shortest_tree(
    triples: Triples, sources: IntArray, forward: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """The tree of the shortest paths from the sources, or to them.

    The last triple (first one, towards the sources) of each node's path (-1: none), its length (-1:
    unreachable), and the nodes in the order in which they were reached. Of equally short paths the
    one with the larger sum of scores, then the lower tuple of ranks, read along the triples.
    """
    starts = triples.head_starts if forward else triples.tail_starts
    order = triples.by_head if forward else triples.by_tail
    far = triples.tail if forward else triples.head
    n_nodes = len(starts) - 1
    via = np.full(n_nodes, -1, np.int64)
    length = np.full(n_nodes, -1, np.int64)
    sums = np.zeros(n_nodes, np.int64)
    place = np.zeros(n_nodes, np.int64)
    reached = np.empty(n_nodes, np.int64)
    n_reached = 0
    for node in sources:
        if length[node] < 0:
            length[node] = 0
            reached[n_reached] = node
            n_reached += 1
    begin = 0
    while begin < n_reached:
        end = n_reached
        for at in range(begin, end):
            node = reached[at]
            for entry in range(starts[node], starts[node + 1]):
                triple = order[entry]
                near = far[triple]
                if length[near] < 0:
                    length[near] = length[node] + 1
                    reached[n_reached] = near
                    n_reached += 1
                elif length[near] != length[node] + 1:
                    continue
                total = sums[node] + triples.millionths[triple]
                if via[near] >= 0 and total < sums[near]:
                    continue
                if (
                    via[near] < 0
                    or total > sums[near]
                    or _lower(triples, triple, via[near], place, forward)
                ):
                    via[near], sums[near] = triple, total
        _place(triples, reached, end, n_reached, via, place, forward)
        begin = end
    return via, length, reached[:n_reached]


@kernel
def _lower(triples: Triples, one: int, other: int, place: IntArray, forward: bool) -> bool:
    if not forward:
        return one < other
    first, second = place[triples.head[one]], place[triples.head[other]]
    return one < other if first == second else first < second


@kernel
def _place(
    triples: Triples, reached: IntArray, begin: int, end: int, via: IntArray, place: IntArray,
    forward: bool,
) -> None:  # fmt: skip
    if not forward:
        return
    size = len(triples.head) + 1
    keys = np.empty(end - begin, np.int64)
    for at in range(begin, end):
        triple = via[reached[at]]
        keys[at - begin] = place[triples.head[triple]] * size + triple
    for position, at in enumerate(np.argsort(keys)):
        place[reached[begin + at]] = position


@kernel
def pool_tree(triples: Triples, sources: IntArray, forward: bool, pooling: Pooling,
              best: FloatArray) -> None:  # fmt: skip
    """Pool every kernel of the shortest paths from the sources, or to them.

    A triple of the tree is in the kernels of all nodes behind it. Away from the sources it has
    the same position in all of them; towards them the position depends on the kernel.
    """
    via, length, reached = shortest_tree(triples, sources, forward)
    before = triples.head if forward else triples.tail
    longest = 0
    for node in reached:
        longest = max(longest, length[node])
    walk = np.empty(longest, np.int64)
    for node in reached:
        step, at = node, 0
        while via[step] >= 0:
            walk[length[node] - 1 - at if forward else at] = via[step]
            step = before[via[step]]
            at += 1
        if at:
            pool_kernel(triples, walk, at, pooling, best)


@kernel
def pool_simple_paths(triples: Triples, source: int, forward: bool, longest: int,
                      pooling: Pooling, best: FloatArray) -> None:  # fmt: skip
    """Pool every simple path of at most `longest` triples from the source, or to it."""
    starts = triples.head_starts if forward else triples.tail_starts
    order = triples.by_head if forward else triples.by_tail
    far = triples.tail if forward else triples.head
    nodes = np.empty(longest + 1, np.int64)
    walk = np.empty(longest, np.int64)
    turned = np.empty(longest, np.int64)
    entries = np.empty(longest + 1, np.int64)
    nodes[0], entries[0] = source, starts[source]
    depth = 0
    while depth >= 0:
        if depth == longest or entries[depth] == starts[nodes[depth] + 1]:
            depth -= 1
            continue
        triple = order[entries[depth]]
        entries[depth] += 1
        near, again = far[triple], False
        for at in range(depth + 1):
            again = again or nodes[at] == near
        if again:
            continue
        walk[depth] = triple
        depth += 1
        nodes[depth], entries[depth] = near, starts[near]
        for at in range(depth):
            turned[at] = walk[at] if forward else walk[depth - 1 - at]
        pool_kernel(triples, turned, depth, pooling, best)
