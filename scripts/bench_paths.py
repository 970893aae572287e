"""Searches of paths on a seeded power-law graph, each against a plain Python search of the same.

Both give the same paths, or there is an error and no row. `ours` are questions a second by the
median of many, p95 the slow end; `paths` is how many were found. Compiling is not part of a
question: the first one is not counted.
"""

import statistics
import time
from collections.abc import Callable
from functools import cache, lru_cache, partial

import numpy as np
import slow_paths
from timing import Numbers, rates, seconds

from graphrag_bench.algorithms.flow_kernels import Rules
from graphrag_bench.algorithms.flow_paths import Selection, flow_paths
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.k_shortest_paths import Search, fewest_hops, likely_pairs, step_paths
from graphrag_bench.algorithms.path_pooling import Kernels, pooled
from graphrag_bench.values import best_first

N_NODES, N_RELATIONSHIPS = 100_000, 1_000_000
EXPONENT = 2.5
"""Of the distribution of degrees: P(degree = d) falls as d to the power of -2.5."""

N_QUESTIONS = 25
N_STEP_NODES, MOST_PAIRS = 50, 2000
RULES = Rules(0.7, 0.01, 3)
SEARCH = Search(k=4, most=4)
KERNELS = Kernels("dijkstra", "mean", "set", 1.0)


@cache
def power_law() -> Graph:
    """A graph whose rows draw both ends with chances that make a power law of the degrees.

    The most joined node has about 11,000 neighbours, the median one 11; the ids are shuffled.
    """
    chance = np.random.default_rng(0)
    odds = np.arange(1, N_NODES + 1) ** (-1 / (EXPONENT - 1))
    size = (2, N_RELATIONSHIPS)
    ends = chance.permutation(N_NODES)[chance.choice(N_NODES, size, p=odds / odds.sum())]
    graph = Graph.from_arrays(*ends, n_nodes=N_NODES)
    _ = graph.neighbours, graph.parallel, graph.degree  # made once for a graph
    return graph


def drawn(chance: np.random.Generator, n: int, *, by_degree: bool) -> np.ndarray:
    """Distinct nodes, all equally likely or in proportion to their degrees."""
    degree = power_law().degree
    odds = degree / degree.sum() if by_degree else None
    return chance.choice(len(degree), n, replace=False, p=odds)


def measured(calls: list[Callable[[], object]]) -> tuple[list[float], object]:
    """Seconds of each call after one that is not counted, and what the first one returned."""
    first = calls[0]()
    return [seconds(call) for call in calls], first


def same(ours: object, reference: object) -> None:
    """Raises AssertionError unless both are equal."""
    if ours != reference:
        raise AssertionError(f"the reference differs: {ours!r} and {reference!r}")


def flow_case(*, by_degree: bool) -> Numbers:
    """Flow pruning between 40 nodes, all ordered pairs, three hops, the best 15 paths."""
    graph = power_law()
    chance = np.random.default_rng(1)
    questions = [drawn(chance, 40, by_degree=by_degree).tolist() for _ in range(N_QUESTIONS)]

    def ours(nodes: list[int]) -> list[tuple[tuple[int, ...], float]]:
        paths = flow_paths(graph, nodes, RULES, "both", Selection("reversal", 15))
        return [(path.nodes, path.score) for path in paths]

    def reference(nodes: list[int]) -> list[tuple[tuple[int, ...], float]]:
        paths = slow_paths.flow_paths(
            near, nodes, alpha=RULES.alpha, theta=RULES.theta, max_hops=RULES.max_hops
        )
        return paths[:15]

    near = slow_paths.Lazy(graph)
    times, first = measured([lambda nodes=nodes: ours(nodes) for nodes in questions])
    same(first, reference(questions[0]))  # makes the lists of neighbours, too
    other = seconds(lambda: reference(questions[0]))
    n_paths = statistics.mean(len(ours(nodes)) for nodes in questions)
    return rates(1, times, [other], "questions/s", paths=n_paths)


def steps_of(
    chance: np.random.Generator, *, by_degree: bool
) -> tuple[list[np.ndarray], np.ndarray]:
    """Up to 2,000 pairs for each transition of 150 nodes in three steps; all similarities."""
    nodes = drawn(chance, 3 * N_STEP_NODES, by_degree=by_degree).reshape(3, -1)
    scores = chance.uniform(0.3, 0.8, nodes.shape)
    transitions = [
        likely_pairs(nodes[at], nodes[at + 1], scores[at], scores[at + 1], MOST_PAIRS)
        for at in (0, 1)
    ]
    similarity = np.clip(chance.normal(0.2, 0.1, power_law().n_relationships), -1, 1)
    return transitions, similarity


def k_shortest_case(*, by_degree: bool, n_sampled: int = 40) -> Numbers:
    """The 15 best paths of both transitions; the reference's time is that of sampled pairs.

    A plain search of all 4,000 pairs would take a minute, so that it is done for `n_sampled` of
    them, compared path by path, and its time scaled to all.
    """
    graph = power_law()
    chance = np.random.default_rng(2)
    questions = [steps_of(chance, by_degree=by_degree) for _ in range(N_QUESTIONS)]
    times, first = measured(
        [lambda one=one: step_paths(graph, *one, SEARCH, 15) for one in questions]
    )
    transitions, similarity = questions[0]
    same(first, step_paths(graph, transitions, similarity, SEARCH, None)[:15])
    pairs = np.concatenate(transitions)
    sample = np.sort(chance.choice(len(pairs), n_sampled, replace=False))
    near, alike = slow_paths.Lazy(graph), likeness(graph, similarity)
    routes = fewest_hops(graph, pairs, similarity, k=SEARCH.k, most=SEARCH.most)
    took = 0.0
    for row in sample.tolist():
        source, target = pairs[row].tolist()
        slow_paths.fewest_hops(near, source, target, alike, SEARCH.k, SEARCH.most)
        began = time.perf_counter()
        want = slow_paths.fewest_hops(near, source, target, alike, SEARCH.k, SEARCH.most)
        took += time.perf_counter() - began
        here = routes.pair == row
        walks = [tuple(n for n in nodes if n >= 0) for nodes in routes.nodes[here].tolist()]
        totals = np.rint(routes.scores[here] * routes.hops[here] * 1e6).astype(int).tolist()
        same(list(zip(walks, totals, strict=True)), want)
    return rates(1, times, [took * len(pairs) / n_sampled], "questions/s", paths=len(routes.hops))


def likeness(graph: Graph, similarity: np.ndarray) -> Callable[[int, int], int]:
    """The similarity of two neighbours in millionths: that of the best row between them."""
    millionths = np.rint(similarity * 1e6).astype(np.int64)
    others, first = graph.parallel.T
    np.maximum.at(millionths, first, millionths[others])

    @lru_cache(maxsize=None)
    def of(one: int, other: int) -> int:
        return int(millionths[graph.neighbours.rows_along((one, other))[0]])

    return of


def path_pool_500() -> Numbers:
    """Pooling 500 triples of 200 nodes with shortest paths from and to two entities."""
    chance = np.random.default_rng(3)
    odds = np.arange(1, 201) ** -0.7

    def question() -> tuple[np.ndarray, np.ndarray]:
        ends = chance.choice(200, (2, 500), p=odds / odds.sum())
        return ends, np.sort(chance.uniform(0.3, 0.9, 500))[::-1]

    questions = [question() for _ in range(20 * N_QUESTIONS)]

    def ours(ends: np.ndarray, scores: np.ndarray) -> list[int]:
        masses = pooled(*ends, scores, [20, 50], KERNELS, np.random.default_rng(0))
        return best_first(masses).tolist()

    times, first = measured([lambda one=one: ours(*one) for one in questions])
    ends, scores = questions[0]
    began = time.perf_counter()
    triples = list(zip(*ends.tolist(), strict=True))
    kernels = slow_paths.shortest_by_levels(triples, scores.tolist(), [20, 50])
    slow = slow_paths.pooled_over(kernels, scores.tolist())
    order = sorted(range(len(slow)), key=lambda row: (-round(slow[row], 6), row))
    took = time.perf_counter() - began
    same(first, order)
    return rates(1, times, [took], "questions/s")


CASES = {
    "flow_prune_40": partial(flow_case, by_degree=True),
    "flow_prune_40_uniform": partial(flow_case, by_degree=False),
    "k_shortest_150": partial(k_shortest_case, by_degree=False),
    "k_shortest_150_by_degree": partial(k_shortest_case, by_degree=True, n_sampled=10),
    "path_pool_500": path_pool_500,
}
"""Nodes are drawn by their degrees, as names that many texts mention are, or alike."""
