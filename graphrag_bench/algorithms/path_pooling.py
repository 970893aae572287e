"""Path pooling: triples scored by the best of the paths, from and to the question's entities."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphrag_bench.algorithms.kernels import kernel
from graphrag_bench.values import DECIMALS, FloatArray, IntArray

LONGEST = 4
"""The most triples of a kernel that a breadth-first search or a random walk finds."""

N_WALKS = 256


class Kernels(NamedTuple):
    """Which paths are pooled and how: the settings of path pooling.

    `search` finds the shortest paths, every simple path of at most four triples, or those of 256
    random walks; `sources` starts from the entities as one set or from each; `pooling` takes a
    path's mean or highest score; `a` divides the lowest score in the positional term.
    """

    search: Literal["dijkstra", "bfs", "random_walk"]
    pooling: Literal["mean", "max"]
    sources: Literal["set", "per_entity"]
    a: float


class PooledTriples(NamedTuple):
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
def pool_kernel(triples: PooledTriples, walk: IntArray, length: int, pooling: Pooling,
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
def ways(triples: PooledTriples, forward: bool) -> tuple[IntArray, IntArray, IntArray]:
    """The triples at node v, `order[starts[v]:starts[v + 1]]`, and where each leads."""
    if forward:
        return triples.head_starts, triples.by_head, triples.tail
    return triples.tail_starts, triples.by_tail, triples.head


@kernel
def shortest_tree(
    triples: PooledTriples, sources: IntArray, forward: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """The tree of the shortest paths from the sources, or to them.

    The last triple (first one, towards the sources) of each node's path (-1: none), its length (-1:
    unreachable), and the nodes in the order in which they were reached. Of equally short paths the
    one with the larger sum of scores, then the lower tuple of ranks, read along the triples.
    """
    starts, order, far = ways(triples, forward)
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
def _lower(triples: PooledTriples, one: int, other: int, place: IntArray, forward: bool) -> bool:
    if not forward:
        return one < other
    first, second = place[triples.head[one]], place[triples.head[other]]
    return one < other if first == second else first < second


@kernel
def _place(
    triples: PooledTriples, reached: IntArray, begin: int, end: int, via: IntArray, place: IntArray,
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
def pool_tree(triples: PooledTriples, sources: IntArray, forward: bool, pooling: Pooling,
              best: FloatArray) -> None:  # fmt: skip
    """Pool every kernel of the shortest paths from the sources, or to them.

    A triple of the tree belongs to the kernels of all its descendants. In trees from the sources
    its position is the same in each; in trees to the sources it depends on the kernel.
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
def pool_simple_paths(triples: PooledTriples, source: int, forward: bool, longest: int,
                      pooling: Pooling, best: FloatArray) -> None:  # fmt: skip
    """Pool every simple path of at most `longest` triples from the source, or to it."""
    starts, order, far = ways(triples, forward)
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


def pooled(
    source: ArrayLike,
    target: ArrayLike,
    scores: ArrayLike,
    entities: ArrayLike,
    kernels: Kernels,
    chance: np.random.Generator,
) -> FloatArray:
    """The pooled score of every triple, float64 (n,).

    PooledTriples go from `source` to `target` (node ids, (n,)), in the order of their base ranks;
    `scores` are theirs, not negative. A kernel is a path from the `entities` to a node, or from a
    node to them, along the triples' direction. S of the i-th triple of a kernel is the kernel's
    mean (or highest) score + lowest score of all / (i * a); a triple has the best S of the kernels
    it lies on, and is a kernel by itself when it lies on none. Of equally short paths the one with
    the larger sum of scores (by six decimals) counts, then the lower tuple of base ranks. Without
    an entity at a triple the order is that of the scores.
    Source: path pooling (Wang et al. 2025), section 3.3.
    """
    base = np.ascontiguousarray(scores, np.float64)  # one layout, compiled once
    best: FloatArray = np.full(len(base), -np.inf)
    if not len(base):
        return best
    nodes, ends = np.unique(
        np.stack([np.asarray(source, np.int64), np.asarray(target, np.int64)]), return_inverse=True
    )
    head, tail = ends.reshape(2, -1)
    entity_rows = np.flatnonzero(np.isin(nodes, np.asarray(entities, np.int64)))
    step = float(base.min()) / kernels.a
    pooling = Pooling(kernels.pooling == "max", step)
    by_head, by_tail = (np.argsort(one, kind="stable") for one in (head, tail))
    starts = [
        np.searchsorted(one[order], np.arange(len(nodes) + 1))
        for one, order in ((head, by_head), (tail, by_tail))
    ]
    millionths = np.rint(base * 10**DECIMALS).astype(np.int64)
    triples = PooledTriples(head, tail, base, millionths, by_head, starts[0], by_tail, starts[1])
    if len(entity_rows):
        _pool(triples, entity_rows, kernels, pooling, chance, best)
    alone = ~np.isfinite(best)
    best[alone] = base[alone] + step
    return best


def _pool(
    triples: PooledTriples, entities: IntArray, kernels: Kernels, pooling: Pooling,
    chance: np.random.Generator, best: FloatArray,
) -> None:  # fmt: skip
    if kernels.search == "random_walk":
        for walk in random_walks(triples, entities, chance):
            pool_kernel(triples, np.array(walk, np.int64), len(walk), pooling, best)
        return
    together = kernels.search == "dijkstra" and kernels.sources == "set"
    for forward in (True, False):
        for sources in [entities] if together else entities[:, None]:
            if kernels.search == "bfs":
                pool_simple_paths(triples, sources[0], forward, LONGEST, pooling, best)
            else:
                pool_tree(triples, sources, forward, pooling, best)


def random_walks(
    triples: PooledTriples, entities: IntArray, chance: np.random.Generator
) -> list[tuple[int, ...]]:
    """The distinct kernels of 256 walks, each read along its triples, in order of first walk.

    A walk starts at an entity, follows up to four triples, every second one against their
    direction, and stops where none goes on or where the one drawn leads to a node it has visited.
    Source: path pooling (Wang et al. 2025), section 4.3.1; how a walk is drawn is ours.
    """
    walks: dict[tuple[int, ...], None] = {}
    for number in range(N_WALKS):
        forward = number % 2 == 0
        starts, order, far = ways(triples, forward)
        node = int(entities[chance.integers(len(entities))])
        seen: list[int] = [node]
        walk: list[int] = []
        while len(walk) < LONGEST and starts[node] < starts[node + 1]:
            triple = int(order[chance.integers(starts[node], starts[node + 1])])
            node = int(far[triple])
            if node in seen:
                break
            seen.append(node)
            walk.append(triple)
        if walk:
            walks[tuple(walk if forward else walk[::-1])] = None
    return list(walks)


def for_prompt(
    best_first: IntArray, order: Literal["recency", "lost_in_middle", "best_first"]
) -> IntArray:
    """Rows in prompt order: the best last, or at both ends (d1 d3 d5 d4 d2), or first.

    Source: path pooling (Wang et al. 2025), sections 3.4 and 4.3.3.
    """
    if order == "recency":
        return best_first[::-1]
    if order == "lost_in_middle":
        return np.concatenate([best_first[::2], best_first[1::2][::-1]])
    return best_first
