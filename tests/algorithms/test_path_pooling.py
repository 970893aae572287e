"""Path pooling worked out by hand on two small graphs."""

from itertools import product

import numpy as np
import pytest

from graphrag_bench.algorithms.path_pooling import pool_scores
from graphrag_bench.arrays import best_first

Q, A, B, C, D, E, X, Y = range(8)

LINES = [(Q, A, 0.9), (A, D, 0.7), (X, Y, 0.6), (A, B, 0.5), (B, C, 0.4), (E, Q, 0.3)]
CYCLE = [
    (B, C, 0.9), (Q, A, 0.8), (Q, B, 0.6), (A, C, 0.5), (C, Q, 0.4), (A, B, 0.3), (Q, A, 0.2),
]  # fmt: skip


def pool(triples, entities=(Q,), **settings):
    source, target, scores = zip(*triples, strict=True)
    return pool_scores(source, target, scores, entities, rng=np.random.default_rng(0), **settings)


@pytest.mark.parametrize(
    ("world", "settings", "scores"),
    [
        (LINES, {}, [1.2, 0.95, 0.9, 0.85, 0.7, 0.6]),
        (LINES, {"a": 2.0}, [1.05, 0.875, 0.75, 0.775, 0.65, 0.45]),
        (LINES, {"pooling": "max"}, [1.2, 1.05, 0.9, 1.05, 1.0, 0.6]),
        (LINES, {"search": "bfs"}, [1.2, 0.95, 0.9, 0.85, 0.7, 0.6]),
        (LINES, {"search": "bfs", "a": 2.0}, [1.05, 0.875, 0.75, 0.775, 0.65, 0.45]),
        (LINES, {"search": "bfs", "pooling": "max"}, [1.2, 1.05, 0.9, 1.05, 1.0, 0.6]),
        # of equally short paths, the one with the larger sum is the kernel
        (CYCLE, {}, [0.85, 1.0, 0.95, 0.65, 0.75, 0.5, 0.4]),
        (CYCLE, {"a": 2.0}, [0.8, 0.9, 0.85, 0.55, 0.7, 0.4, 0.3]),
        (CYCLE, {"pooling": "max"}, [1.1, 1.0, 1.1, 0.7, 1.0, 0.5, 0.4]),
        # only E-Q-A-B-C, which passes the entity Q, gives t6 its mean 0.525 + 0.3
        (LINES, {"entities": (Q, C)}, [1.2, 0.95, 0.9, 0.85, 0.7, 0.6]),
        (LINES, {"entities": (Q, C), "sources": "per_entity"}, [1.2, 0.95, 0.9, 0.85, 0.7, 0.825]),
        (CYCLE, {"entities": (Q, C), "sources": "per_entity"}, [1.1, 1, 0.95, 0.7, 0.8, 0.5, 0.4]),
        (CYCLE, {"entities": (Q, C), "search": "bfs"}, [1.1, 1, 0.95, 0.75, 0.8, 0.8, 2 / 3]),
    ],
)
def test_a_triple_has_the_best_score_of_the_kernels_it_lies_on(world, settings, scores):
    assert pool(world, **settings).tolist() == pytest.approx(scores, abs=1e-6)


def test_without_an_entity_the_order_stays():
    searches = "dijkstra", "bfs", "random_walk"
    for world, search, entities in product((LINES, CYCLE), searches, ((), (99,))):
        scores = pool(world, entities=entities, search=search)
        assert best_first(scores).tolist() == list(range(len(world)))
    assert pool_scores([], [], [], [Q], rng=np.random.default_rng(0)).tolist() == []
