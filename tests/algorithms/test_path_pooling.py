"""Path pooling worked out by hand on two small graphs."""

import numpy as np
import pytest

from graphrag_bench.algorithms.path_pooling import pool_scores, prompt_order
from graphrag_bench.values import best_first

TOLERANCE = 1e-6
Q, A, B, C, D, E, X, Y = range(8)

LINES = {  # by base rank
    "t1": (Q, A, 0.9), "t4": (A, D, 0.7), "t5": (X, Y, 0.6), "t2": (A, B, 0.5), "t3": (B, C, 0.4),
    "t6": (E, Q, 0.3),
}  # fmt: skip
CYCLE = {  # by base rank
    "u4": (B, C, 0.9), "u1": (Q, A, 0.8), "u2": (Q, B, 0.6), "u3": (A, C, 0.5), "u5": (C, Q, 0.4),
    "u6": (A, B, 0.3), "u7": (Q, A, 0.2),
}  # fmt: skip


def pool(triples, entities=(Q,), **settings):
    source, target, scores = zip(*triples, strict=True)
    return pool_scores(source, target, scores, entities, rng=np.random.default_rng(0), **settings)


def scored(world: dict, **ways) -> dict[str, float]:
    return dict(zip(world, pool(world.values(), **ways).tolist(), strict=True))


def order(world: dict, way: str, **ways) -> list[str]:
    rows = best_first(pool(world.values(), **ways))
    return [list(world)[row] for row in prompt_order(rows, way)]


def about(**scores: float) -> dict[str, object]:
    return {name: pytest.approx(score, abs=TOLERANCE) for name, score in scores.items()}


def test_a_triple_has_the_best_score_of_the_kernels_it_lies_on():
    for search in ("dijkstra", "bfs"):
        assert scored(LINES, search=search) == about(
            t1=1.2, t4=0.95, t5=0.9, t2=0.85, t3=0.7, t6=0.6
        )
        assert scored(LINES, search=search, a=2.0) == about(
            t1=1.05, t4=0.875, t5=0.75, t2=0.775, t3=0.65, t6=0.45
        )
        assert scored(LINES, search=search, pooling="max") == about(
            t1=1.2, t4=1.05, t5=0.9, t2=1.05, t3=1.0, t6=0.6
        )


def test_of_equally_short_paths_the_one_with_the_larger_sum_is_the_kernel():
    assert scored(CYCLE) == about(u1=1.0, u2=0.95, u4=0.85, u5=0.75, u3=0.65, u6=0.5, u7=0.4)
    assert scored(CYCLE, a=2.0) == about(u1=0.9, u2=0.85, u4=0.8, u5=0.7, u3=0.55, u6=0.4, u7=0.3)
    assert scored(CYCLE, pooling="max") == about(
        u1=1.0, u2=1.1, u4=1.1, u5=1.0, u3=0.7, u6=0.5, u7=0.4
    )


def test_per_entity_sources_and_bfs_add_longer_paths():
    """Only E-Q-A-B-C, which passes the entity Q, gives t6 its mean 0.525 + 0.3."""
    usual = {"t1": 1.2, "t4": 0.95, "t5": 0.9, "t2": 0.85, "t3": 0.7}
    assert scored(LINES, entities=(Q, C)) == about(**usual, t6=0.6)
    assert scored(LINES, entities=(Q, C), sources="per_entity") == about(**usual, t6=0.825)
    best = {"u4": 1.1, "u1": 1.0, "u2": 0.95, "u5": 0.8}
    assert scored(CYCLE, entities=(Q, C), sources="per_entity") == about(
        **best, u3=0.7, u6=0.5, u7=0.4
    )
    assert scored(CYCLE, entities=(Q, C), search="bfs") == about(**best, u3=0.75, u6=0.8, u7=2 / 3)


def test_without_an_entity_the_order_stays():
    for world in (LINES, CYCLE):
        for search in ("dijkstra", "bfs", "random_walk"):
            assert order(world, "best_first", entities=(), search=search) == list(world)
            assert order(world, "best_first", entities=(99,), search=search) == list(world)
    assert pool_scores([], [], [], [Q], rng=np.random.default_rng(0)).tolist() == []
