"""Path pooling: specification 4.3 to 4.5, goldens G4 and G5, and the slow reference."""

import numpy as np
import pytest
import slow_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.algorithms.path_pooling import Kernels, for_prompt, pooled
from graphrag_bench.values import best_first

TOLERANCE = 1e-6
Q, A, B, C, D, E, X, Y = range(8)

LINES = {  # G4, by base rank
    "t1": (Q, A, 0.9), "t4": (A, D, 0.7), "t5": (X, Y, 0.6), "t2": (A, B, 0.5), "t3": (B, C, 0.4),
    "t6": (E, Q, 0.3),
}  # fmt: skip
CYCLE = {  # G5, by base rank
    "u4": (B, C, 0.9), "u1": (Q, A, 0.8), "u2": (Q, B, 0.6), "u3": (A, C, 0.5), "u5": (C, Q, 0.4),
    "u6": (A, B, 0.3), "u7": (Q, A, 0.2),
}  # fmt: skip


def pool(
    triples, entities=(Q,), *, search="dijkstra", pooling="mean", sources="set", a=1.0, seed=0
):
    source, target, scores = zip(*triples, strict=True)
    kernels = Kernels(search, pooling, sources, a)
    return pooled(source, target, scores, list(entities), kernels, np.random.default_rng(seed))


def scored(world: dict, **ways) -> dict[str, float]:
    return dict(zip(world, pool(world.values(), **ways).tolist(), strict=True))


def order(world: dict, way: str, **ways) -> list[str]:
    rows = best_first(pool(world.values(), **ways))
    return [list(world)[row] for row in for_prompt(rows, way)]


def about(**scores: float) -> dict[str, object]:
    return {name: pytest.approx(score, abs=TOLERANCE) for name, score in scores.items()}


@pytest.mark.parametrize("search", ["dijkstra", "bfs"])
def test_a_triple_has_the_best_score_of_the_kernels_it_lies_on(search):
    assert scored(LINES, search=search) == about(t1=1.2, t4=0.95, t5=0.9, t2=0.85, t3=0.7, t6=0.6)
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


def test_without_an_entity_the_order_stays():
    for world in (LINES, CYCLE):
        for search in ("dijkstra", "bfs", "random_walk"):
            assert order(world, "best_first", entities=(), search=search) == list(world)
            assert order(world, "best_first", entities=(99,), search=search) == list(world)
    assert pooled([], [], [], [Q], Kernels("bfs", "mean", "set", 1.0),
                  np.random.default_rng(0)).tolist() == []  # fmt: skip


scores = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.30000001, 0.5, 0.7, 1.0])
triples = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), scores), min_size=1, max_size=11)
ranked = triples.map(lambda rows: sorted(rows, key=lambda row: -row[2]))
entities = st.lists(st.integers(0, 6), max_size=3, unique=True).map(sorted)
poolings = st.sampled_from(["mean", "max"])


@settings(max_examples=80, deadline=None)
@given(
    rows=ranked, entities=entities, pooling=poolings, a=st.sampled_from([1.0, 2.0, -3.0]),
    search=st.sampled_from(["dijkstra", "bfs"]), sources=st.sampled_from(["set", "per_entity"]),
)  # fmt: skip
def test_pooled_scores_are_those_of_the_definition(rows, entities, pooling, search, sources, a):
    slow = slow_paths.pooled(
        [row[:2] for row in rows], [row[2] for row in rows], entities,
        shortest=search == "dijkstra", per_entity=sources == "per_entity" or search == "bfs",
        highest=pooling == "max", a=a, longest=9 if search == "dijkstra" else 4,
    )  # fmt: skip
    fast = pool(rows, entities, search=search, pooling=pooling, sources=sources, a=a)
    assert fast == pytest.approx(slow, abs=TOLERANCE)
