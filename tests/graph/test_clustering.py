"""Clusters of vectors on points whose groups can be seen by eye."""

import sys

import numpy as np
import pytest
from small_worlds import said_by_a_process

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.graph.clustering import (
    Mixture,
    _balanced,
    _posteriors,
    balanced_clusters,
    mixture_clusters,
    mixture_layer,
    reduce,
)

pytestmark = pytest.mark.slow


def crowds(*centres: tuple[float, float, float], each: int = 20) -> np.ndarray:
    """Points of standard deviation 0.05 around each centre, one crowd after the other."""
    rng = np.random.default_rng(1)
    return np.concatenate([np.array(c) + 0.05 * rng.standard_normal((each, 3)) for c in centres])


TWO = crowds((0, 0, 0), (5, 5, 5))


def mixture(**other: object) -> Mixture:
    return Mixture(
        **{"dimension": 2, "threshold": 0.1, "max_tokens": 3500, "reduction": "pca"} | other
    )


def by_mixture(points: np.ndarray, n_tokens: np.ndarray | None = None, **other: object) -> list:
    tokens = np.ones(len(points), np.int64) if n_tokens is None else n_tokens
    found = mixture_clusters(points, tokens, mixture(**other), np.random.default_rng(0))
    return [cluster.tolist() for cluster in found]


def balanced(points: np.ndarray, size: int, **other: int) -> list[list[int]]:
    found = balanced_clusters(points, size, np.random.default_rng(0), **other)
    return [cluster.tolist() for cluster in found]


# ---- mixtures


def test_a_mixture_keeps_two_far_crowds_apart():
    for cluster in by_mixture(TWO):
        assert set(cluster) <= set(range(20)) or set(cluster) <= set(range(20, 40))


def test_one_layer_of_a_mixture_is_not_split_however_many_its_tokens():
    found = mixture_layer(TWO, mixture(max_tokens=1), np.random.default_rng(0))
    assert [cluster.tolist() for cluster in found] == [list(range(20)), list(range(20, 40))]


def test_without_patience_the_search_goes_on_where_ten_numbers_in_a_row_were_in_vain(monkeypatch):
    """BIC of 2 components is 5, of 3 to 13 it is 9, of 14 it is 1: only the whole sweep sees it."""
    from sklearn.mixture import GaussianMixture

    bics = {2: 5.0, 14: 1.0}
    tried: list[int] = []

    def bic(model: GaussianMixture, points: np.ndarray) -> float:
        tried.append(model.n_components)
        return bics.get(model.n_components, 9.0)

    monkeypatch.setattr(GaussianMixture, "bic", bic)
    points = TWO[:, :2]
    assert _posteriors(points, mixture(), 0).shape[1] == 2
    assert max(tried) == 12
    assert _posteriors(points, mixture(patience=None), 0).shape[1] == 14
    assert max(tried) == 39


def test_above_the_rows_that_are_swept_the_number_of_components_is_a_hundredth():
    points = crowds((0, 0, 0), (5, 5, 5), (0, 5, 0), (5, 0, 5), each=100)[:, :2]
    assert _posteriors(points, mixture(most_swept=399), 0).shape[1] == 400 // 100 - 1
    assert _posteriors(points, mixture(most_swept=400), 0).shape[1] == 4


def test_every_row_is_in_a_cluster_even_where_no_posterior_passes_the_threshold():
    for threshold in (0.1, 0.999999):
        found = by_mixture(TWO, threshold=threshold)
        assert sorted({row for cluster in found for row in cluster}) == list(range(40))


def test_rows_of_one_place_are_one_cluster():
    assert by_mixture(np.ones((8, 3))) == [list(range(8))]


def test_clusters_are_sorted_and_come_once():
    found = by_mixture(TWO)
    assert found == sorted(found)
    assert len({tuple(cluster) for cluster in found}) == len(found)


def test_a_cluster_with_too_many_tokens_is_split_again_and_one_at_the_limit_is_not():
    """Three crowds of twenty in a row: with room for all the widest cluster is the larger."""
    points = crowds((0, 0, 0), (0, 0, 0.4), (9, 9, 9))
    tokens = np.full(len(points), 10, np.int64)
    whole = by_mixture(points, tokens, max_tokens=600)
    split = by_mixture(points, tokens, max_tokens=30)
    assert max(map(len, split)) <= max(map(len, whole))
    assert len(split) >= len(whole)


def test_one_cloud_that_no_mixture_takes_apart_is_cut_to_parts_of_about_the_tokens_allowed():
    """Forty rows of ten tokens against a hundred: four parts of ten, a fifth more at most."""
    cloud = crowds((0, 0, 0), each=40)
    whole = by_mixture(cloud)
    assert whole == [list(range(40))]
    parts = by_mixture(cloud, np.full(40, 10, np.int64), max_tokens=100)
    assert sorted(row for part in parts for row in part) == list(range(40))
    assert max(map(len, parts)) <= 12


def test_nothing_gives_no_cluster_and_one_row_gives_its_own():
    assert by_mixture(np.empty((0, 3))) == []
    assert by_mixture(np.ones((1, 3))) == [[0]]
    assert by_mixture(np.array([[0.0, 0, 0], [9, 9, 9]])) == [[0, 1]]


def test_pca_keeps_distances_when_no_dimension_is_lost():
    """The points lie on a line of length 4: one dimension holds them."""
    points = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 4.0]])
    (a, b, c) = reduce(points, 1, "pca", neighbours=2, seed=0).ravel()
    assert abs(b - a) == pytest.approx(1.0)
    assert abs(c - a) == pytest.approx(4.0)


def test_umap_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(UserError, match=r"graphrag-bench\[umap\]"):
        by_mixture(TWO, reduction="umap")


# ---- balanced k-means


def test_balanced_clusters_hold_every_row_once_and_are_even():
    """Forty rows in four clusters: ten each is the share, and 1.2 times that the most."""
    found = balanced(TWO, 10)
    assert len(found) == 4
    assert sorted(row for cluster in found for row in cluster) == list(range(40))
    assert max(map(len, found)) <= 12


def test_balanced_clusters_of_far_crowds_are_the_crowds():
    assert balanced(TWO, 20) == [list(range(20)), list(range(20, 40))]


def test_the_farthest_rows_leave_a_cluster_that_is_too_large():
    """Six rows, two centres at 0 and 10, so a share of 3 and at most 3.6.

    All six are nearest to 0, the farthest are 4 and then 3: after three moves the other cluster
    is at its share, and three rows stay.
    """
    points = np.array([[0.0], [0.5], [1.0], [2.0], [3.0], [4.0]])
    labels = _balanced(points, np.array([[0.0], [10.0]]), np.zeros(6, np.int64))
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_fewer_rows_than_a_cluster_takes_are_one_cluster():
    assert balanced(TWO[:7], 10) == [list(range(7))]
    assert balanced(np.empty((0, 3)), 10) == []


def test_equal_rows_end_in_a_valid_assignment():
    """All centres are equal, all rows go to the first, and the other centre's cluster is filled."""
    found = balanced(np.ones((20, 3)), 10)
    assert sorted(row for cluster in found for row in cluster) == list(range(20))


# ---- whatever the process


def digest_of_clusters() -> str:
    return digest([by_mixture(TWO), by_mixture(crowds((0, 0, 0), each=60)), balanced(TWO, 7)])


def test_clusters_do_not_depend_on_the_hash_seed_or_the_number_of_threads():
    statement = (
        "import os; os.environ['OMP_NUM_THREADS'] = os.environ['OPENBLAS_NUM_THREADS'] = '{}';"
        "import sys; sys.path.insert(0, 'tests/graph');"
        "import test_clustering as t; print(t.digest_of_clusters())"
    )
    found = [said_by_a_process(statement.format(n), seed) for seed, n in ((1, 1), (2, 2))]
    assert found == [digest_of_clusters()] * 2


@pytest.mark.real
def test_umap_keeps_two_far_groups_apart_and_gives_the_same_bytes_again() -> None:
    rng = np.random.default_rng(5)
    centres = np.eye(12)[:2] * 10
    points = np.concatenate([centre + rng.normal(0, 0.3, (12, 12)) for centre in centres])
    found = [reduce(points, 2, "umap", neighbours=5, seed=224) for _ in range(2)]
    assert found[0].shape == (24, 2)
    assert found[0].tobytes() == found[1].tobytes()
    inside = max(np.ptp(found[0][:12], axis=0).max(), np.ptp(found[0][12:], axis=0).max())
    between = np.linalg.norm(found[0][:12].mean(axis=0) - found[0][12:].mean(axis=0))
    assert between > inside
