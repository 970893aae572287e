"""Clusters of vectors on points whose groups can be seen by eye."""

import numpy as np
import pytest

from graphrag_bench.algorithms.clustering import (
    Mixture,
    _balanced,
    _posteriors,
    balanced_clusters,
    mixture_clusters,
)

pytestmark = pytest.mark.slow


TWO = np.repeat([0.0, 5.0], 20)[:, None] + 0.05 * np.random.default_rng(1).normal(size=(40, 3))
"""Two crowds of twenty points, one around (0, 0, 0), the other around (5, 5, 5)."""


def mixture(**other: object) -> Mixture:
    return Mixture(
        **{"dimension": 2, "threshold": 0.1, "max_tokens": 3500, "reduction": "pca"} | other
    )


def test_without_patience_the_search_goes_on_where_ten_numbers_in_a_row_were_in_vain(monkeypatch):
    """BIC of 2 components is 5, of 3 to 13 it is 9, of 14 it is 1: only the whole sweep sees it."""
    from sklearn.mixture import GaussianMixture

    bics = {2: 5.0, 14: 1.0}
    tried: list[int] = []

    def bic(model: GaussianMixture, points: np.ndarray) -> float:
        tried.append(model.n_components)
        return bics.get(model.n_components, 9.0)

    monkeypatch.setattr(GaussianMixture, "bic", bic)
    points = TWO[10:30, :2]
    assert _posteriors(points, mixture(), 0).shape[1] == 2
    assert max(tried) == 12
    assert _posteriors(points, mixture(patience=None), 0).shape[1] == 14
    assert max(tried) == 19


def test_every_row_is_in_a_cluster_even_where_no_posterior_passes_the_threshold():
    for threshold in (0.1, 0.999999):
        tokens, chosen = np.ones(40, np.int64), mixture(threshold=threshold)
        result = mixture_clusters(TWO, tokens, chosen, np.random.default_rng(0))
        assert sorted({*np.concatenate(result).tolist()}) == list(range(40))


def test_balanced_clusters_hold_every_row_once_and_are_even():
    """Forty rows in four clusters: ten each is the share, and 1.2 times that the most."""
    result = [one.tolist() for one in balanced_clusters(TWO, 10, np.random.default_rng(0))]
    assert len(result) == 4
    assert sorted(row for cluster in result for row in cluster) == list(range(40))
    assert max(map(len, result)) <= 12


def test_the_farthest_rows_leave_a_cluster_that_is_too_large():
    """Six rows, two centres at 0 and 10, so a share of 3 and at most 3.6.

    All six are nearest to 0, the farthest are 4 and then 3: after three moves the other cluster
    is at its share, and three rows stay.
    """
    points = np.array([[0.0], [0.5], [1.0], [2.0], [3.0], [4.0]])
    labels = _balanced(points, np.array([[0.0], [10.0]]), np.zeros(6, np.int64))
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
