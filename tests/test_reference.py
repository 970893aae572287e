"""Algorithms agree with reference implementations."""

import math

import numpy as np
import pytest
import scipy.stats

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import personalised_pagerank, walk_of_nodes
from graphrag_bench.evaluation.statistics import RESAMPLES, mean_with_interval
from graphrag_bench.indices.words import Bm25

SEEDS = range(2)


@pytest.mark.parametrize("damping", [0.1, 0.85, 0.999])
@pytest.mark.parametrize("seed", SEEDS)
def test_pagerank_solves_its_equation(seed, damping):
    """With damping 0.999 the walk needs thousands of iterations. Some nodes are isolated."""
    rng = np.random.default_rng(seed)
    ends, weight = rng.integers(0, 30, (2, 25)), rng.uniform(0.1, 3.0, 25)
    graph = Graph.from_arrays(*ends, weight=weight, n_nodes=30)
    restart = np.zeros(30)
    restart[rng.choice(30, 3, replace=False)] = rng.dirichlet(np.ones(3))
    dense = graph.adjacency.toarray()
    strength = dense.sum(axis=1)
    assert (strength == 0).any()
    walk = dense / np.where(strength > 0, strength, 1.0)[:, None]
    lost = np.outer(restart, strength == 0)
    exact = np.linalg.solve(np.eye(30) - damping * (walk.T + lost), (1 - damping) * restart)
    ours = personalised_pagerank(walk_of_nodes(graph), restart, damping)
    np.testing.assert_allclose(ours, exact, atol=2e-10 / (1 - damping))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_interval_equals_scipys_percentile_bootstrap(seed):
    sample = np.random.default_rng(seed).binomial(1, 0.3, 60).astype(float)
    theirs = scipy.stats.bootstrap(
        (sample,), np.mean, n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    ours = mean_with_interval(sample.tolist())
    assert (ours.low, ours.high) == (round(theirs.low, 6), round(theirs.high, 6))


def textbook_bm25(documents: list[list[str]], query: list[str], k1: float, b: float) -> np.ndarray:
    """Robertson & Zaragoza 2009 with Lucene's idf.

    The sum over the query's words of idf * tf / (tf + k1 (1 - b + b length / mean length)).
    """
    n, mean_length = len(documents), sum(map(len, documents)) / len(documents)
    scores = np.zeros(n)
    for word in query:
        n_with = sum(word in document for document in documents)
        idf = math.log(1 + (n - n_with + 0.5) / (n_with + 0.5))
        for row, document in enumerate(documents):
            frequency = document.count(word)
            saturation = k1 * (1 - b + b * len(document) / mean_length)
            scores[row] += idf * frequency / (frequency + saturation)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_bm25_agrees_with_the_textbook(seed, k1, b):
    rng = np.random.default_rng(seed)
    vocabulary = ["river", "lens", "comet", "harbour", "mountain", "medal", "salmon"]
    documents = [list(rng.choice(vocabulary, rng.integers(1, 12))) for _ in range(20)]
    query = list(rng.choice([*vocabulary, "unheard"], 4))
    index = Bm25.of([" ".join(document) for document in documents], k1, b)
    expected = textbook_bm25(documents, query, k1, b)
    np.testing.assert_allclose(index.scores(" ".join(query)), expected, atol=1e-5)
