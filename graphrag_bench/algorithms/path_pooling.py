"""Path pooling: score triples by the best paths between question entities and other nodes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray

Kernel = tuple[int, ...]
"""Triples of a path from its start to its end, as positions in the first ranking."""
Ways = Mapping[int, Sequence[tuple[int, int]]]
"""For each node, pairs of a triple (its position in the first ranking) and the node it leads to."""
Search = Literal["dijkstra", "bfs", "random_walk"]
Sources = Literal["set", "per_entity"]

LONGEST, N_WALKS = 4, 256
"""Largest number of triples in a path of a breadth-first search or walk, and number of walks."""


def pool_scores(
    source: ArrayLike,
    target: ArrayLike,
    scores: ArrayLike,
    entities: ArrayLike,
    *,
    rng: np.random.Generator,
    search: Search = "dijkstra",
    pooling: Literal["mean", "max"] = "mean",
    sources: Sources = "set",
    a: float = 1.0,
) -> FloatArray:
    """Return the pooled score of each triple, float64 (n,), which rewards triples on good paths.

    Triples lead from `source` to `target` and have non-negative `scores`. They are sorted by a
    first ranking. A kernel is a path along triples from an entity to a node, or from a node to an
    entity. If `search` is `dijkstra`, the kernels are shortest paths between each node and the
    nearest entity (sources="set") or each entity ("per_entity"). Of equally short paths, the path
    with the largest sum of scores is used. Sums are compared to six decimals. Ties are broken by
    the positions of the triples. If `search` is `bfs`, the kernels are all simple paths of at most
    four triples. If `search` is `random_walk`, they are the paths of 256 random walks. The i-th
    triple of a kernel gets the score `centre + lowest / (i * a)`, where centre is the mean or
    maximum of the kernel's scores (`pooling`), and lowest is the minimum of all scores. The pooled
    score of a triple is its highest score in any kernel. A triple in no kernel forms its own
    kernel.
    Source: path pooling (Wang et al. 2025), section 3.3.
    """
    base: FloatArray = np.asarray(scores, np.float64)
    best: FloatArray = np.full(len(base), -np.inf)
    step = base.min(initial=np.inf) / a
    onward, back = defaultdict[int, list[tuple[int, int]]](list), defaultdict(list)
    ends = np.stack([np.asarray(source, np.int64), np.asarray(target, np.int64)])
    for triple, (head, tail) in enumerate(ends.T.tolist()):
        onward[head].append((triple, tail))
        back[tail].append((triple, head))
    known = np.intersect1d(ends, np.asarray(entities, np.int64)).tolist()
    for kernel in _kernels(onward, back, known, base, search, sources, rng):
        values = base[list(kernel)]
        centre = values.max() if pooling == "max" else values.mean()
        for place, triple in enumerate(kernel, start=1):
            best[triple] = max(best[triple], centre + step / place)
    return np.where(np.isfinite(best), best, base + step)


def _kernels(
    onward: Ways, back: Ways, entities: list[int], scores: FloatArray,
    search: Search, sources: Sources, rng: np.random.Generator,
) -> Iterator[Kernel]:  # fmt: skip
    if search == "random_walk":
        yield from random_walks(onward, back, entities, rng)
        return
    costs = (-np.rint(scores * 10**DECIMALS)).astype(np.int64).tolist()
    together = search == "dijkstra" and sources == "set"
    for ways, turn in ((onward, 1), (back, -1)):
        for group in [entities] if together else [[entity] for entity in entities]:
            if search == "dijkstra":
                yield from _shortest_paths(ways, group, costs, turn)
            else:
                yield from (path[::turn] for path in _simple_paths(ways, group[0]))


def _shortest_paths(
    ways: Ways, sources: Iterable[int], costs: Sequence[int], turn: int
) -> Iterator[Kernel]:
    layer: dict[int, tuple[int, Kernel]] = {node: (0, ()) for node in sources}
    reached = set(layer)
    while layer:
        further: dict[int, tuple[int, Kernel]] = {}
        for node, (cost, path) in layer.items():
            for triple, near in ways.get(node, ()):
                if near not in reached:
                    longer = (*path, triple) if turn > 0 else (triple, *path)
                    way = cost + costs[triple], longer
                    further[near] = min(further.get(near, way), way)
        yield from (path for _, path in further.values())
        reached.update(further)
        layer = further


def _simple_paths(ways: Ways, start: int) -> Iterator[Kernel]:
    waiting: list[tuple[Kernel, tuple[int, ...]]] = [((), (start,))]
    while waiting:
        path, nodes = waiting.pop()
        for triple, near in ways.get(nodes[-1], ()) if len(path) < LONGEST else ():
            if near not in nodes:
                yield (*path, triple)
                waiting.append(((*path, triple), (*nodes, near)))


def random_walks(
    onward: Ways, back: Ways, entities: Sequence[int], rng: np.random.Generator
) -> list[Kernel]:
    """Return the distinct paths of random walks from random entities, by first occurrence.

    A walk stops before it returns to a visited node. Every second walk follows triples backwards.
    Source: path pooling (Wang et al. 2025), section 4.3.1.
    """
    kernels: dict[Kernel, None] = {}
    for number in range(N_WALKS if entities else 0):
        ways, turn = (back, -1) if number % 2 else (onward, 1)
        nodes, path = [entities[int(rng.integers(len(entities)))]], list[int]()
        while len(path) < LONGEST and (here := ways.get(nodes[-1])):
            triple, near = here[int(rng.integers(len(here)))]
            if near in nodes:
                break
            nodes.append(near)
            path.append(triple)
        if path:
            kernels[tuple(path[::turn])] = None
    return list(kernels)


def prompt_order(
    best_first: IntArray, order: Literal["recency", "lost_in_middle", "best_first"]
) -> IntArray:
    """Return rows in their order in the prompt, given the rows from best to worst.

    The best rows come last (`recency`), at both ends, e.g. d1 d3 d5 d4 d2 (`lost_in_middle`), or
    first (`best_first`).
    Source: path pooling (Wang et al. 2025), sections 3.4 and 4.3.3.
    """
    if order == "lost_in_middle":
        return np.concatenate([best_first[::2], best_first[1::2][::-1]])
    return best_first[::-1] if order == "recency" else best_first
