"""Path pooling: triples scored by the best of the paths, from and to the question's entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphrag_bench.values import DECIMALS, FloatArray, IntArray

if TYPE_CHECKING:
    from graphrag_bench.graph.pooling_kernels import Pooling, Triples

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


def pooled(
    source: ArrayLike,
    target: ArrayLike,
    scores: ArrayLike,
    entities: ArrayLike,
    kernels: Kernels,
    chance: np.random.Generator,
) -> FloatArray:
    """The pooled score of every triple, float64 (n,).

    Triples go from `source` to `target` (node ids, (n,)), in the order of their base ranks;
    `scores` are theirs, not negative. A kernel is a path from the `entities` to a node, or from a
    node to them, along the triples' direction. S of the i-th triple of a kernel is the kernel's
    mean (or highest) score + lowest score of all / (i * a); a triple has the best S of the kernels
    it lies on, and is a kernel by itself when it lies on none. Of equally short paths the one with
    the larger sum of scores (by six decimals) counts, then the lower tuple of base ranks. Without
    an entity at a triple the order is that of the scores.
    Source: path pooling (Wang et al. 2025), section 3.3.
    """
    from graphrag_bench.graph.pooling_kernels import Pooling

    base = np.ascontiguousarray(scores, np.float64)  # one layout, compiled once
    best: FloatArray = np.full(len(base), -np.inf)
    if not len(base):
        return best
    nodes, ends = np.unique(
        np.stack([np.asarray(source, np.int64), np.asarray(target, np.int64)]),
        return_inverse=True,
    )
    head, tail = ends.reshape(2, -1)
    asked = np.flatnonzero(np.isin(nodes, np.asarray(entities, np.int64)))
    step = float(base.min()) / kernels.a
    pooling = Pooling(kernels.pooling == "max", step)
    triples = _triples(head, tail, base, len(nodes))
    _pool(triples, asked, kernels, pooling, chance, best)
    alone = ~np.isfinite(best)
    best[alone] = base[alone] + step
    return best


def _triples(head: IntArray, tail: IntArray, scores: FloatArray, n_nodes: int) -> Triples:
    from graphrag_bench.graph.pooling_kernels import Triples

    by_head, by_tail = (np.argsort(ends, kind="stable") for ends in (head, tail))
    starts = [np.searchsorted(ends[order], np.arange(n_nodes + 1)) for ends, order in
              ((head, by_head), (tail, by_tail))]  # fmt: skip
    millionths = np.rint(scores * 10**DECIMALS).astype(np.int64)
    return Triples(head, tail, scores, millionths, by_head, starts[0], by_tail, starts[1])


def _pool(
    triples: Triples,
    entities: IntArray,
    kernels: Kernels,
    pooling: Pooling,
    chance: np.random.Generator,
    best: FloatArray,
) -> None:
    """Raise `best` by every kernel of the search."""
    from graphrag_bench.graph.pooling_kernels import pool_kernel, pool_simple_paths, pool_tree

    if not len(entities):
        return
    if kernels.search == "random_walk":
        for walk in random_walks(triples, entities, chance):
            pool_kernel(triples, np.array(walk, np.int64), len(walk), pooling, best)
        return
    for forward in (True, False):
        if kernels.search == "bfs":
            for node in entities.tolist():
                pool_simple_paths(triples, node, forward, LONGEST, pooling, best)
        elif kernels.sources == "set":
            pool_tree(triples, entities, forward, pooling, best)
        else:
            for place in range(len(entities)):
                pool_tree(triples, entities[place : place + 1], forward, pooling, best)


def random_walks(
    triples: Triples, entities: IntArray, chance: np.random.Generator
) -> list[tuple[int, ...]]:
    """The distinct kernels of 256 walks, each read along its triples, in order of first walk.

    A walk starts at an entity, follows up to four triples, every second one against their
    direction, and stops where none goes on or where the one drawn leads to a node it has visited.
    Source: path pooling (Wang et al. 2025), section 4.3.1; how a walk is drawn is ours.
    """
    walks: dict[tuple[int, ...], None] = {}
    for number in range(N_WALKS):
        forward = number % 2 == 0
        starts, order, far = (
            (triples.head_starts, triples.by_head, triples.tail)
            if forward
            else (triples.tail_starts, triples.by_tail, triples.head)
        )
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
