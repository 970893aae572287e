"""Bootstrap intervals, paired permutation tests, and minimum detectable differences."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_REACH = NormalDist().inv_cdf(1 - 0.05 / 2) + NormalDist().inv_cdf(0.8)
"""Minimum detectable difference in standard errors (two-sided level 5 %, power 80 %)."""
_NEAR = 1e-9
_SIGNS = 2**18
"""Number of signs in memory at a time. They need 2 MB and fit into the cache of a core."""


Clusters = NDArray[np.int64] | None
"""Cluster of each value, or None if single values are resampled."""


def clusters_of(scopes: Sequence[str | None]) -> Clusters:
    """Return the cluster of each value, numbered by first appearance.

    Questions about the same part of the corpus, such as a document, have the same scope and form a
    cluster. A value without a scope is a cluster of its own. Returns None if there is only one
    cluster, or if every cluster has only one value.

    >>> clusters_of(["b", "a", "b", None])
    array([0, 1, 0, 2])
    """
    numbers: dict[object, int] = {}
    keys = [(row,) if scope is None else scope for row, scope in enumerate(scopes)]
    clusters = [numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(clusters, np.int64) if 1 < len(numbers) < len(clusters) else None


def cluster_sums(values: NDArray[Any], clusters: Clusters) -> NDArray[np.float64]:
    """Return the sums over clusters along the first axis; without clusters, the values."""
    rows = np.asarray(values, np.float64)
    if clusters is None:
        return rows
    sums = np.zeros((int(clusters.max()) + 1, *rows.shape[1:]))
    np.add.at(sums, clusters, rows)
    return sums


def sign_flip_p(
    differences: NDArray[Any], clusters: Clusters = None, *, permutations: int = 9999, seed: int = 0
) -> NDArray[np.float64]:
    """Return the two-sided p-value (mid-p) of each column of paired differences.

    `differences` has the shape (questions, tests). Under the null hypothesis the sign of each
    difference is random, and all differences of a cluster flip together. The test is exact if all
    differences have the same size (sign test) or if at most `permutations` sign flips are possible.
    Otherwise it samples `permutations` random flips. A flip whose sum is as extreme as the observed
    sum counts half; otherwise, p is too large for 0/1 scores. If all differences are 0, p is 1.
    Source: Efron & Tibshirani 1993, chapter 15; mid-p: Lancaster 1961, Fagerland et al. 2013.

    >>> sign_flip_p(np.array([1, 1, 1, 1, 1, 0])).tolist()
    [0.03125]
    """
    sums = cluster_sums(differences, clusters)
    sums = np.where(np.abs(sums) <= _NEAR, 0.0, sums).reshape(len(sums), -1)
    sizes = np.abs(sums).max(axis=0, initial=0.0)
    of_one_size = np.all((sums == 0) | (np.abs(np.abs(sums) - sizes) <= _NEAR), axis=0)
    p = np.ones(sums.shape[1])
    for column in np.flatnonzero(of_one_size):  # a sign test, without the slow `scipy.stats`
        n, wins = int(np.sum(sums[:, column] != 0)), int(np.sum(sums[:, column] > 0))
        fewer = min(wins, n - wins)
        further = 2 * sum(math.comb(n, k) for k in range(fewer))
        as_far = math.comb(n, fewer) * (1 if 2 * fewer == n else 2)
        p[column] = further / 2**n + 0.5 * (as_far / 2**n) if n else 1.0
    if not of_one_size.all():
        p[~of_one_size] = _permutation_p(sums[:, ~of_one_size], permutations, seed)
    return p


def _permutation_p(sums: NDArray[np.float64], permutations: int, seed: int) -> NDArray[np.float64]:
    sums = sums[np.any(sums != 0, axis=1)]
    n, n_tests = sums.shape
    exact = 2**n <= permutations
    observed = np.abs(sums.sum(axis=0))
    further, as_far = np.zeros(n_tests), np.full(n_tests, 0.0 if exact else 1.0)
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1 for _ in range(exact))
    for bits in every if exact else _random_bits(n, n_tests, permutations, seed):
        null = np.abs((2.0 * bits - 1.0) @ sums)
        equal = np.abs(null - observed) <= _NEAR
        further += np.sum((null > observed) & ~equal, axis=0)
        as_far += np.sum(equal, axis=0)
    return (further + 0.5 * as_far) / (2**n if exact else permutations + 1)


def _random_bits(n: int, n_tests: int, permutations: int, seed: int) -> Iterator[NDArray[Any]]:
    """Yield random bits, which stand for the signs, in blocks (rows, n).

    The signs are the same as in `scipy.stats.permutation_test`, which is twenty times slower. Each
    random number of 64 bits gives two signs: the lowest bits of its lower and upper half.
    """
    generator = np.random.default_rng(seed).bit_generator
    block = max(2, _SIGNS // max(n, n_tests) // 2 * 2)
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        drawn = generator.random_raw((rows * n + 1) // 2).astype("<u8", copy=False).view("<u4")
        yield (drawn[: rows * n] & 1).reshape(rows, n)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values with Holm-Bonferroni correction, in the order of the given p-values.

    The correction controls the family-wise error rate for dependent tests, too.
    Source: Holm 1979.

    >>> holm([0.04, 0.01, 0.5, 0.03])
    [0.09, 0.04, 0.5, 0.09]
    """
    order = np.argsort(ps, kind="stable")
    multiplied = np.asarray(ps)[order] * np.arange(len(ps), 0, -1)
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(multiplied, 1.0))
    return [float(p) for p in corrected]


@dataclass(frozen=True)
class Mean:
    """Mean over `n` questions with its 95 % bootstrap interval `low`..`high`.

    `clusters` is the number of resampled clusters, or 0 if single questions are resampled.
    """

    mean: float
    low: float
    high: float
    n: int
    clusters: int = 0

    def stored(self) -> dict[str, float]:
        """Return the fields that `metrics.json` stores, by name; `clusters` only if it is not 0."""
        return {name: value for name, value in vars(self).items() if name != "clusters" or value}


def mean_with_interval(values: Sequence[float], *, scopes: Sequence[str | None] = ()) -> Mean:
    """Return the mean with its 95 % percentile bootstrap interval, rounded to 6 decimals.

    The bootstrap resamples the questions of a scope together (`clusters_of`). With ten or fewer
    scopes the interval is too narrow. The samples are the same as in `scipy.stats.bootstrap`, which
    is slow to import. Raises ValueError if there are no values.
    Source: Efron & Tibshirani 1993, chapter 13; cluster bootstrap: Davison & Hinkley 1997, section
    3.8.

    >>> mean_with_interval([0, 1, 1, 1])
    Mean(mean=0.75, low=0.25, high=1.0, n=4, clusters=0)
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values to average")
    clusters = clusters_of(scopes)
    low = high = float(sample.mean())
    if len(sample) > 1 and float(np.ptp(sample)) > 0:
        sums, sizes = (cluster_sums(one, clusters) for one in (sample, np.ones(len(sample))))
        drawn = np.random.default_rng(0).integers(0, len(sums), (RESAMPLES, len(sums)))
        if clusters is None:
            means = sample[drawn].mean(axis=1)
        else:
            means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        # same as np.percentile, which is slower to import because it needs numpy.ma
        at = np.array([1 - 0.95, 1 + 0.95]) / 2 * (RESAMPLES - 1)
        low, high = np.interp(at, np.arange(RESAMPLES), np.sort(means)).tolist()
    n_clusters = 0 if clusters is None else int(clusters.max()) + 1
    mean = round(float(sample.mean()), 6)
    return Mean(mean, round(low, 6), round(high, 6), len(sample), n_clusters)


@dataclass(frozen=True, kw_only=True)
class Difference(Mean):
    """Mean paired difference (second minus first) over the questions that two runs share.

    `first` and `second` are the means of the two runs. `wins` is the number of questions on which
    the second run is higher. `detectable` is the result of `detectable_difference`.
    """

    first: float
    second: float
    p: float
    wins: int
    ties: int
    losses: int
    detectable: float | None = None


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, scopes: Sequence[str | None] = ()
) -> Difference:
    """Return the paired difference (second minus first) with interval, p-value and wins.

    Raises ValueError if there are no values.
    Source: Efron & Tibshirani 1993, chapters 13 and 15.

    >>> result = paired_difference([0, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 0])
    >>> result.mean, result.p, (result.wins, result.ties, result.losses)
    (0.333333, 0.375, (3, 2, 1))
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    mean = mean_with_interval(list(b - a), scopes=scopes)
    (p,) = sign_flip_p(b - a, clusters_of(scopes))
    return Difference(
        **vars(mean), first=round(float(a.mean()), 6), second=round(float(b.mean()), 6),
        p=round(float(p), 6),
        wins=int(np.sum(b > a)), ties=int(np.sum(b == a)), losses=int(np.sum(b < a)),
        detectable=detectable_difference(list(b - a), scopes),
    )  # fmt: skip


def detectable_difference(
    differences: Sequence[float], scopes: Sequence[str | None] = ()
) -> float | None:
    """Return the minimum detectable mean difference (power 80 %, two-sided level 5 %).

    It is (z_0.975 + z_0.8) times the standard error, clustered by scope. Returns None if there are
    fewer than two questions or if the standard error is 0.
    Source: Cohen 1988, section 2.2; clustered standard error: Miller 2024 (arXiv 2411.00640),
    section 2.2.

    >>> detectable_difference([1, -1, 1, -1])
    1.617496
    """
    sample = np.asarray(differences, np.float64)
    if len(sample) < 2 or float(np.ptp(sample)) == 0:
        return None
    residuals = cluster_sums(sample - sample.mean(), clusters_of(scopes))
    n = len(residuals)
    error = math.sqrt(n / (n - 1) * float(np.sum(residuals**2))) / len(sample)
    return round(_REACH * error, 6) if error > 0 else None


def detectable_share(n_questions: int) -> float:
    """Return the minimum detectable difference between two accuracies, to plan a run.

    It is (z_0.975 + z_0.8) * sqrt(0.5 / n), but at most 1. Of two independent methods with an
    accuracy of 0.5, exactly one method is right on half of the questions. The variance is that
    under the null hypothesis, which is larger than the variance under the alternative.
    Source: Connor 1987; Miller 2024 (arXiv 2411.00640), section 5.

    >>> detectable_share(100)
    0.198102
    """
    return round(min(1.0, _REACH * math.sqrt(0.5 / n_questions)), 6)
