"""Clusters of points in two obvious groups."""

import numpy as np
import pytest

from graphrag_bench.algorithms import clustering

pytestmark = pytest.mark.slow

TWO = np.repeat([0.0, 5.0], 20)[:, None] + 0.05 * np.random.default_rng(1).normal(size=(40, 3))
"""Twenty points around (0, 0, 0) and twenty around (5, 5, 5)."""


def mixture(**other):
    usual = {"dimension": 2, "threshold": 0.1, "max_tokens": 3500, "reduction": "pca"}
    return clustering.Mixture(**usual | other)


def test_without_patience_the_sweep_tries_every_number_of_components(monkeypatch):
    """BIC is 5 for 2 components, 9 for 3 to 13, and 1 for 14, which only a full sweep reaches."""
    from sklearn.mixture import GaussianMixture

    bics = {2: 5.0, 14: 1.0}
    tried: list[int] = []

    def bic(model: GaussianMixture, points: np.ndarray) -> float:
        tried.append(model.n_components)
        return bics.get(model.n_components, 9.0)

    monkeypatch.setattr(GaussianMixture, "bic", bic)
    points = TWO[10:30, :2]
    assert clustering._posteriors(points, mixture(), 0).shape[1] == 2
    assert max(tried) == 12
    assert clustering._posteriors(points, mixture(patience=None), 0).shape[1] == 14
    assert max(tried) == 19


def test_every_row_is_in_a_cluster_even_below_the_threshold():
    for threshold in (0.1, 0.999999):
        tokens, chosen = np.ones(40, np.int64), mixture(threshold=threshold)
        result = clustering.mixture_clusters(TWO, tokens, chosen, np.random.default_rng(0))
        assert sorted({*np.concatenate(result).tolist()}) == list(range(40))


def test_balanced_clusters_are_a_partition_of_similar_sizes():
    """Forty rows in four clusters: ten each on average, at most 1.2 times as many."""
    result = [
        one.tolist() for one in clustering.balanced_clusters(TWO, 10, np.random.default_rng(0))
    ]
    assert len(result) == 4
    assert sorted(row for cluster in result for row in cluster) == list(range(40))
    assert max(map(len, result)) <= 12


def test_the_farthest_rows_leave_a_cluster_that_is_too_large():
    """Six rows, two centres at 0 and 10, so a share of 3 and at most 3.6.

    All six are nearest to 0, the farthest are 4 and then 3: after three moves the other cluster
    is at its share, and three rows stay.
    """
    points = np.array([[0.0], [0.5], [1.0], [2.0], [3.0], [4.0]])
    labels = clustering._balanced(points, np.array([[0.0], [10.0]]), np.zeros(6, np.int64))
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
