"""The permutation test holds its level on pure chance, also with shared documents, and Holm's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from graphrag_bench.evaluation.statistics import clusters_of, holm, sign_flip_p

pytestmark = pytest.mark.slow

NULLS = 3000
Numbers = np.ndarray
SEED = 20


def right_or_wrong(rng: np.random.Generator, chances: Numbers) -> Numbers:
    return (rng.random(chances.shape) < chances).astype(float)


def f1_like(rng: np.random.Generator, n: int, tests: int) -> Numbers:
    """Values of which four in ten are 0, three in ten 1, the rest anything between."""
    drawn = rng.random((n, tests))
    between = rng.random((n, tests))
    return np.where(drawn < 0.4, 0.0, np.where(drawn < 0.7, 1.0, between))


def nulls(kind: str, n: int, tests: int = NULLS) -> Numbers:
    """Differences of two methods that are equally good, one column a comparison."""
    rng = np.random.default_rng(SEED)
    if kind == "scores":
        return f1_like(rng, n, tests) - f1_like(rng, n, tests)
    halves = np.full((n, tests), 0.5)
    binary = right_or_wrong(rng, halves) - right_or_wrong(rng, halves)
    if kind == "right or wrong":
        return binary
    of_both = f1_like(rng, n, tests) - f1_like(rng, n, tests)
    return np.where(np.arange(tests) % 2, binary, of_both)


def clustered_nulls(clusters: Numbers, tests: int = NULLS) -> Numbers:
    """Right or wrong answers where a document favours one of two equally good methods."""
    rng = np.random.default_rng(SEED)
    n_scopes = int(clusters.max()) + 1
    hard = rng.random((n_scopes, tests))
    favours = [np.clip(hard + 0.35 * rng.normal(size=hard.shape), 0, 1)[clusters] for _ in "ab"]
    return right_or_wrong(rng, favours[1]) - right_or_wrong(rng, favours[0])


def rate(differences: Numbers, clusters: Numbers | None = None, **how: str) -> float:
    """The share of p-values up to 0.05, each hundred of them from swaps of their own."""
    blocks = np.split(differences, NULLS // 100, axis=1)
    found = [
        sign_flip_p(block, clusters, permutations=999, seed=seed, **how)  # type: ignore[arg-type]
        for seed, block in enumerate(blocks)
    ]
    return float(np.mean(np.concatenate(found) <= 0.05))


@pytest.mark.parametrize("kind", ["scores", "right or wrong", "a mixture"])
@pytest.mark.parametrize("n", [60, 100])
def test_of_3000_comparisons_of_equals_five_in_a_hundred_are_called_different(kind, n):
    assert 0.04 <= rate(nulls(kind, n)) <= 0.06


@pytest.mark.parametrize("n_scopes", [15, 30])
def test_questions_that_share_documents_keep_the_rate_when_they_are_swapped_together(n_scopes):
    sizes = np.random.default_rng(SEED).integers(1, 7, n_scopes)
    clusters = np.repeat(np.arange(n_scopes), sizes)
    differences = clustered_nulls(clusters)
    assert 0.04 <= rate(differences, clusters) <= 0.06
    assert rate(differences) > 0.12


def test_counting_ties_in_full_is_never_too_often_and_mostly_too_seldom():
    binary = nulls("right or wrong", 60)
    assert np.all(sign_flip_p(binary) <= sign_flip_p(binary, ties="full"))
    assert rate(binary, ties="full") < 0.04 < rate(binary)


@pytest.mark.parametrize("seed", range(30))
def test_with_ties_in_full_p_is_scipys(seed):
    """Exact for up to 13 differences; the differences of one comparison are never all 0."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, int(rng.integers(2, 13))).astype(float)
    values[0] = 1.0
    theirs = scipy.stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=9999, vectorized=True
    ).pvalue
    (ours,) = sign_flip_p(values, ties="full")
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("n", [1, 2, 7, 100, 2001])
@pytest.mark.parametrize("share", [0, 1 / 3, 1 / 2])
def test_of_wins_and_losses_alone_p_is_that_of_scipys_binomial_distribution(n, share):
    wins = int(n * share)
    below, at_most = scipy.stats.binom.cdf([wins - 1, wins], n, 0.5)
    (p,) = sign_flip_p(np.repeat([1.0, -1.0], [wins, n - wins]))
    as_far = (at_most - below) * (1 if 2 * wins == n else 2)
    assert p == pytest.approx(2 * below + 0.5 * as_far, rel=0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ways", [99, 1000])
def test_by_chance_the_swaps_are_those_of_scipy_and_p_is_the_same_to_the_last_bit(seed, ways):
    """More than 9 differences, of which two columns share the swaps, have over 1000 ways."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(11, 80))
    values = f1_like(rng, n, 2).round(seed % 3 + 1) - f1_like(rng, n, 2).round(seed % 3 + 1)
    values[:2] = [[1.0, 1.0], [0.5, 0.25]]
    theirs = np.abs(scipy.stats.permutation_test(
        (values[np.any(values != 0, axis=1)],), np.sum, permutation_type="samples",
        n_resamples=ways, vectorized=True, rng=np.random.default_rng(seed),
    ).null_distribution)  # fmt: skip
    observed = np.abs(values.sum(axis=0))
    equal = np.abs(theirs - observed) <= 1e-9
    further = np.sum((theirs > observed) & ~equal, axis=0)
    p = (further + 0.5 * (np.sum(equal, axis=0) + 1)) / (ways + 1)
    assert sign_flip_p(values, permutations=ways, seed=seed).tolist() == p.tolist()


def test_three_wins_are_beaten_by_none_of_eight_ways_and_equalled_by_two():
    (half,) = sign_flip_p(np.array([1.0, 1.0, 1.0]))
    (full,) = sign_flip_p(np.array([1.0, 1.0, 1.0]), ties="full")
    assert (half, full) == (pytest.approx(1 / 8), pytest.approx(2 / 8))


def test_a_document_of_three_wins_is_one_win():
    """One scope swapped against another: of four ways two are as far, and none further."""
    clusters = np.array([0, 0, 0, 1])
    (found,) = sign_flip_p(np.array([1.0, 1.0, 1.0, 1.0]), clusters)
    assert found == 2 / 4 * 0.5


def test_no_difference_has_a_p_of_one_beside_columns_that_have_some():
    differences = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert sign_flip_p(differences).tolist() == pytest.approx([1.0, 1 / 8])
    assert sign_flip_p(np.zeros(4)).tolist() == [1.0]
    assert sign_flip_p(np.array([0.0, 0.5])).tolist() == pytest.approx([0.5])


def test_clusters_are_scopes_by_first_appearance_and_none_stands_alone():
    found = clusters_of(["b", "a", "b", None, None])
    assert found is not None
    assert found.tolist() == [0, 1, 0, 2, 3]


@pytest.mark.parametrize("scopes", [["a", "b", "c"], ["a", "a", "a"], [None, None], []])
def test_one_scope_for_all_or_one_for_each_changes_nothing(scopes):
    assert clusters_of(scopes) is None


def test_holm_multiplies_the_smallest_by_all_and_lets_none_fall_below_one_before():
    """0.01 * 4, 0.03 * 3, then 0.04 * 2 = 0.08 is raised to 0.09, and 0.5 stays."""
    assert holm([0.04, 0.01, 0.5, 0.03]) == pytest.approx([0.09, 0.04, 0.5, 0.09])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_of_1000_tables_of_equal_methods_five_in_a_hundred_hold_a_false_positive():
    """Five methods against one baseline: the tests of a table hang together through it."""
    rng = np.random.default_rng(SEED)
    n, tables, methods = 40, 1000, 5
    baseline = f1_like(rng, n, tables)
    p = np.array(
        [
            sign_flip_p(f1_like(rng, n, tables) - baseline, permutations=999, seed=seed)
            for seed in range(methods)
        ]
    )
    plain = float(np.mean(np.any(p <= 0.05, axis=0)))
    corrected = np.mean([min(holm(table)) <= 0.05 for table in p.T.tolist()])
    assert plain > 0.12
    assert 0.02 <= corrected <= 0.06
