import math

import numpy as np
import pytest
import scipy.stats

from graphrag_bench.evaluation import statistics as stats

pytestmark = pytest.mark.slow


def f1_like(rng, n, tests):
    """Random values: 40 % are 0, 30 % are 1, the rest is between."""
    drawn, between = rng.random((n, tests)), rng.random((n, tests))
    return np.where(drawn < 0.4, 0.0, np.where(drawn < 0.7, 1.0, between))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("seed", "ways"), [(0, 99), (1, 1000)])
def test_p_is_that_of_scipys_null_distribution_to_the_last_bit(exact, seed, ways):
    """All sign flips of up to 6 differences, or random ones of more than 9, for two columns."""
    rng = np.random.default_rng(seed)
    n = 6 if exact else int(rng.integers(11, 80))
    values = f1_like(rng, n, 2).round(seed % 3 + 1) - f1_like(rng, n, 2).round(seed % 3 + 1)
    values[:2] = [[1.0, 1.0], [0.5, 0.25]]
    result = scipy.stats.permutation_test(
        (values[np.any(values != 0, axis=1)],), np.sum, permutation_type="samples",
        n_resamples=ways, vectorized=True, rng=np.random.default_rng(seed),
    )  # fmt: skip
    theirs, observed = np.abs(result.null_distribution), np.abs(values.sum(axis=0))
    equal = np.abs(theirs - observed) <= 1e-9
    further = np.sum((theirs > observed) & ~equal, axis=0)
    sampled = len(theirs) == ways
    p = (further + 0.5 * (np.sum(equal, axis=0) + sampled)) / (len(theirs) + sampled)
    assert stats.sign_flip_p(values, permutations=ways, seed=seed).tolist() == p.tolist()


def test_the_sign_test_is_that_of_the_binomial_distribution():
    for n, wins in ((1, 0), (2, 1), (7, 0), (7, 2), (2001, 667), (2001, 1000)):
        below, at_most = scipy.stats.binom.cdf([wins - 1, wins], n, 0.5)
        (p,) = stats.sign_flip_p(np.repeat([1.0, -1.0], [wins, n - wins]))
        as_far = (at_most - below) * (1 if 2 * wins == n else 2)
        assert p == pytest.approx(2 * below + 0.5 * as_far, rel=0, abs=1e-12), (n, wins)


def test_p_and_clusters_by_hand():
    """Two scopes have four sign flips; two are as extreme and none more extreme."""
    assert stats.sign_flip_p(np.ones(4), np.array([0, 0, 0, 1])).tolist() == [2 / 4 * 0.5]
    columns = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert stats.sign_flip_p(columns).tolist() == pytest.approx([1.0, 1 / 8])
    for scopes in (("a", "b", "c"), ("a", "a", "a"), (None, None), ()):
        assert stats.clusters_of(scopes) is None


def test_the_interval_is_over_documents():
    """Each of 20 documents answers all or none of its 5 questions: 20 values, not 100."""
    values = [float(scope % 2) for scope in range(20) for _ in range(5)]
    scopes = [f"d{scope}" for scope in range(20) for _ in range(5)]
    clustered = stats.mean_with_interval(values, scopes=scopes)
    plain, of_documents = stats.mean_with_interval(values), stats.mean_with_interval(values[::5])
    assert (clustered.mean, clustered.n, clustered.clusters) == (0.5, 100, 20)
    assert plain.high - plain.low < 0.21
    assert (clustered.low, clustered.high) == (of_documents.low, of_documents.high)
    assert stats.mean_with_interval([0.5, 0.5, 0.5]) == stats.Mean(0.5, 0.5, 0.5, 3)
    result = stats.paired_difference([0.3, 0.7], [0.3, 0.7])
    assert (result.p, result.low, result.high) == (1.0, 0.0, 0.0)
    for function, *nothing in ((stats.mean_with_interval, []), (stats.paired_difference, [], [])):
        with pytest.raises(ValueError, match="values"):
            function(*nothing)


def test_questions_of_a_scope_are_resampled_together():
    """Three scopes with two wins each have p = 1/8, six single wins 1/64."""
    scopes = ["a", "a", "b", "b", "c", "c"]
    results = [stats.paired_difference([0] * 6, [1] * 6, scopes=of) for of in (scopes, ())]
    assert [(one.p, one.clusters) for one in results] == [(0.125, 3), (pytest.approx(1 / 64), 0)]


def test_the_detectable_difference_is_2_8_standard_errors():
    """The mean of 1, -1, 1, -1 is 0, its variance 4 / 3, the standard error sqrt(4 / 3 / 4)."""
    expected = pytest.approx((1.959964 + 0.841621) * math.sqrt(1 / 3), abs=1e-5)
    assert stats.detectable_difference([1, 1, -1, -1, 1, 1, -1, -1], [*"aabbccdd"]) == expected
    assert {stats.detectable_difference(same) for same in ([], [1.0], [0.2, 0.2])} == {None}
    assert stats.detectable_share(1) == 1.0
