"""Means with bootstrap intervals, paired permutation tests, and minimum detectable differences."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 9999
LEVEL, POWER = 0.05, 0.8
_NEAR = 1e-9
_SIGNS = 2**18
"""Signs that are held at a time: 2 MB, which stay in the cache of a core."""


def clusters_of(scopes: Sequence[str | None]) -> NDArray[np.int64] | None:
    """Return each value's cluster, by first appearance; None where clusters change nothing.

    Values of one scope share a document and are drawn together. A value without a scope is a
    cluster of its own. Clusters change nothing when there is only one, or none holds two values.
    """
    numbers: dict[object, int] = {}
    keys = [(row,) if scope is None else scope for row, scope in enumerate(scopes)]
    clusters = [numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(clusters, np.int64) if 1 < len(numbers) < len(clusters) else None


def cluster_sums(values: NDArray[Any], clusters: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the sum of each cluster's values along the first axis; the values without clusters."""
    rows = np.asarray(values, np.float64)
    if clusters is None:
        return rows
    sums = np.zeros((int(clusters.max()) + 1, *rows.shape[1:]))
    np.add.at(sums, clusters, rows)
    return sums


def sign_flip_p(
    differences: NDArray[Any],
    clusters: NDArray[np.int64] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the two-sided p-value of each column of paired differences (questions x tests).

    Under the null the two methods of a pair may be swapped, which flips the sign of a difference,
    and of all of a cluster together. All ways are counted where the differences are of one size
    (the sign test) or there are at most `permutations` ways, else so many by chance, the observed
    one among them. Ways whose sum is as far from 0 as the observed one count half (mid-p), so that
    the rate of false positives is the level also for answers that are only right or wrong. Columns
    without a difference have p = 1.
    Source: Efron & Tibshirani 1993, chapter 15; mid-p: Lancaster 1961, Fagerland et al. 2013.
    """
    sums = cluster_sums(differences, clusters)
    sums = np.where(np.abs(sums) <= _NEAR, 0.0, sums).reshape(len(sums), -1)
    sizes = np.abs(sums).max(axis=0, initial=0.0)
    of_one_size = np.all((sums == 0) | (np.abs(np.abs(sums) - sizes) <= _NEAR), axis=0)
    p = np.ones(sums.shape[1])
    for column in np.flatnonzero(of_one_size):
        wins, losses = np.sum(sums[:, column] > 0), np.sum(sums[:, column] < 0)
        p[column] = _sign_p(int(wins), int(losses))
    if not of_one_size.all():
        p[~of_one_size] = _by_permuting(sums[:, ~of_one_size], permutations, seed)
    return p


def _sign_p(wins: int, losses: int) -> float:
    """By counting in whole numbers, where importing `scipy.stats` takes half a second."""
    n, fewer = wins + losses, min(wins, losses)
    further = 2 * sum(math.comb(n, k) for k in range(fewer))
    as_far = math.comb(n, fewer) * (1 if 2 * fewer == n else 2)
    return further / 2**n + 0.5 * (as_far / 2**n) if n else 1.0


def _by_permuting(sums: NDArray[np.float64], permutations: int, seed: int) -> NDArray[np.float64]:
    sums = sums[np.any(sums != 0, axis=1)]
    n, n_tests = sums.shape
    exact = 2**n <= permutations
    observed = np.abs(sums.sum(axis=0))
    further, as_far = np.zeros(n_tests), np.full(n_tests, 0.0 if exact else 1.0)
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1 for _ in range(exact))
    for bits in every if exact else _drawn_bits(n, n_tests, permutations, seed):
        null = np.abs((2.0 * bits - 1.0) @ sums)
        equal = np.abs(null - observed) <= _NEAR
        further += np.sum((null > observed) & ~equal, axis=0)
        as_far += np.sum(equal, axis=0)
    return (further + 0.5 * as_far) / (2**n if exact else permutations + 1)


def _drawn_bits(n: int, n_tests: int, ways: int, seed: int) -> Iterator[NDArray[Any]]:
    """Yield random signs, 0 or 1, in blocks (rows, n) of an even number of rows.

    A sign is the lowest bit of one half of a number of the generator, the lower half first: the
    draws of `scipy.stats.permutation_test`, which shuffles the pairs (x, -x) one after the other
    in twenty times the time.
    """
    chance = np.random.default_rng(seed).bit_generator
    block = max(2, _SIGNS // max(n, n_tests) // 2 * 2)
    for start in range(0, ways, block):
        rows = min(block, ways - start)
        drawn = chance.random_raw((rows * n + 1) // 2).astype("<u8", copy=False).view("<u4")
        yield (drawn[: rows * n] & 1).reshape(rows, n)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values in the order given, corrected for the family of all of them.

    Rejecting what is at most 0.05 makes a false positive anywhere in at most 5 of 100 families,
    under any dependence. Source: Holm 1979.
    """
    order = np.argsort(ps, kind="stable")
    multiplied = np.asarray(ps)[order] * np.arange(len(ps), 0, -1)
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(multiplied, 1.0))
    return [float(p) for p in corrected]


RESAMPLES = 2000


@dataclass(frozen=True)
class Mean:
    """A mean over `n` questions with its bootstrap interval `low`..`high`.

    `clusters` is the number of scopes that were drawn whole, 0 where each question was drawn by
    itself.
    """

    mean: float
    low: float
    high: float
    n: int
    clusters: int = 0

    def stored(self) -> dict[str, float]:
        """Return the fields by name, for `metrics.json`; `clusters` only where there are any."""
        return {name: value for name, value in vars(self).items() if name != "clusters" or value}


def mean_with_interval(
    values: Sequence[float], *, scopes: Sequence[str | None] | None = None
) -> Mean:
    """Return the mean and its 95 % percentile bootstrap interval, rounded to 6 decimals.

    Questions that share a scope are drawn together (`clusters_of`); with few scopes, ten or less,
    the interval is too narrow. One value, or values that are all equal, give an interval of no
    width. The draws are those of `scipy.stats.bootstrap`, whose import takes half a second. Raises
    ValueError for no values. Source: Efron & Tibshirani 1993, chapter 13; cluster bootstrap:
    Davison & Hinkley 1997, section 3.8.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values to average")
    clusters = None if scopes is None else clusters_of(scopes)
    low = high = float(sample.mean())
    if len(sample) > 1 and float(np.ptp(sample)) > 0:
        sums, sizes = (cluster_sums(one, clusters) for one in (sample, np.ones(len(sample))))
        drawn = np.random.default_rng(0).integers(0, len(sums), (RESAMPLES, len(sums)))
        if clusters is None:
            means = sample[drawn].mean(axis=1)
        else:
            means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        # what np.percentile says, which would import the masked arrays of numpy
        at = np.array([1 - 0.95, 1 + 0.95]) / 2 * (RESAMPLES - 1)
        low, high = np.interp(at, np.arange(RESAMPLES), np.sort(means)).tolist()
    n_clusters = 0 if clusters is None else int(clusters.max()) + 1
    mean = round(float(sample.mean()), 6)
    return Mean(mean, round(low, 6), round(high, 6), len(sample), n_clusters)


@dataclass(frozen=True)
class Difference:
    """Second minus first over `n` questions that both have.

    `low`..`high` is the bootstrap interval of the mean difference, `p` the two-sided p-value of a
    paired permutation test; `wins` counts the questions where the second is higher. `detectable` is
    the minimum detectable difference, None where all are equal. `clusters` as of `Mean`.
    """

    first: float
    second: float
    mean: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    n: int
    clusters: int = 0
    detectable: float | None = None


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, scopes: Sequence[str | None] | None = None
) -> Difference:
    """Return the mean of second - first with its interval and p-value.

    The test swaps the two values per question at random, jointly for questions that share a
    scope: see `sign_flip_p`. With no difference anywhere p is 1. Raises ValueError for no
    values. Source: Efron & Tibshirani 1993, chapters 13 and 15.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    mean = mean_with_interval(list(b - a), scopes=scopes)
    clusters = None if scopes is None else clusters_of(scopes)
    (p,) = sign_flip_p(b - a, clusters)
    return Difference(
        first=round(float(a.mean()), 6),
        second=round(float(b.mean()), 6),
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        p=round(float(p), 6),
        wins=int(np.sum(b > a)),
        ties=int(np.sum(b == a)),
        losses=int(np.sum(b < a)),
        n=mean.n,
        clusters=mean.clusters,
        detectable=detectable_difference(list(b - a), scopes),
    )


DISCORDANT = 0.5
"""The share of questions that just one of two methods answers rightly, where nothing is known: that
of two independent methods that are each right half of the time."""
_REACH = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)


def detectable_difference(
    differences: Sequence[float], scopes: Sequence[str | None] | None = None
) -> float | None:
    """Return the minimum detectable mean difference (power 80 %, two-sided level 5 %).

    (z_0.975 + z_0.8) times the standard error of the mean difference; where questions share a scope
    that of the sums over scopes. None for fewer than two questions, and where all differences are
    equal, which says nothing of how they spread. Source: Cohen 1988, section 2.2, paired values;
    clustered standard error: Miller 2024 (arXiv 2411.00640), section 2.2.
    """
    sample = np.asarray(differences, np.float64)
    if len(sample) < 2 or float(np.ptp(sample)) == 0:
        return None
    clusters = None if scopes is None else clusters_of(scopes)
    residuals = cluster_sums(sample - sample.mean(), clusters)
    n = len(residuals)
    error = math.sqrt(n / (n - 1) * float(np.sum(residuals**2))) / len(sample)
    return round(_REACH * error, 6) if error > 0 else None


def detectable_share(n_questions: int) -> float:
    """Return the difference of two shares that `n_questions` pairs detect, at most 1.

    Known before a run: (z_0.975 + z_0.8) * sqrt(`DISCORDANT` / n).
    Raises ValueError for no questions. Source: Connor 1987, with the variance under the null for
    both parts, which is the larger one; Miller 2024 (arXiv 2411.00640), section 5.
    """
    if n_questions < 1:
        raise ValueError("no questions, no difference to detect")
    return round(min(1.0, _REACH * math.sqrt(DISCORDANT / n_questions)), 6)
