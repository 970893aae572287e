"""Means with bootstrap intervals, and differences of paired values with a permutation test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.evaluation.significance import cluster_sums, clusters_of, sign_flip_p

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
        """The fields by name, for `metrics.json`; `clusters` only where there are any."""
        return {name: value for name, value in vars(self).items() if name != "clusters" or value}


def mean_with_interval(
    values: Sequence[float],
    level: float = 0.95,
    seed: int = 0,
    *,
    scopes: Sequence[str | None] | None = None,
) -> Mean:
    """The mean and its percentile bootstrap interval, rounded to 6 decimals.

    Questions that share a scope are drawn together (`clusters_of`); with few scopes, ten or less,
    the interval is too narrow. One value, or values that are all equal, give an interval of no
    width. The draws are those of `scipy.stats.bootstrap`, whose import takes half a second of every
    command. Raises ValueError for no values. Source: Efron & Tibshirani 1993, chapter 13; cluster
    bootstrap: Davison & Hinkley 1997, section 3.8.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values to average")
    clusters = None if scopes is None else clusters_of(scopes)
    low = high = float(sample.mean())
    if len(sample) > 1 and float(np.ptp(sample)) > 0:
        sums, sizes = (cluster_sums(one, clusters) for one in (sample, np.ones(len(sample))))
        drawn = np.random.default_rng(seed).integers(0, len(sums), (RESAMPLES, len(sums)))
        if clusters is None:
            means = sample[drawn].mean(axis=1)
        else:
            means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        # what np.percentile says, which would import the masked arrays of numpy
        at = np.array([1 - level, 1 + level]) / 2 * (RESAMPLES - 1)
        low, high = np.interp(at, np.arange(RESAMPLES), np.sort(means)).tolist()
    n_clusters = 0 if clusters is None else int(clusters.max()) + 1
    mean = round(float(sample.mean()), 6)
    return Mean(mean, round(low, 6), round(high, 6), len(sample), n_clusters)


def resampled_sums(
    values: NDArray[Any],
    clusters: NDArray[np.int64] | None,
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The sums of the rows of `values` over each bootstrap sample: (resamples, ...) of (n, ...).

    For statistics of counts; rows of one cluster are drawn together, rows without one alone.
    """
    sums = cluster_sums(values, clusters)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), resamples)
    found: NDArray[np.float64] = np.tensordot(drawn.astype(np.float64), sums, 1)
    return found


@dataclass(frozen=True)
class Difference:
    """Second minus first over `n` questions that both have.

    `low`..`high` is the bootstrap interval of the mean difference, `p` the two-sided p-value of a
    paired permutation test; `wins` counts the questions where the second is higher. `clusters` as
    of `Mean`.
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


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    level: float = 0.95,
    seed: int = 0,
    *,
    scopes: Sequence[str | None] | None = None,
) -> Difference:
    """The mean of second - first with its interval, and whether chance alone would explain it.

    The test swaps the two values per question at random, jointly for questions that share a
    scope: see `sign_flip_p`. With no difference anywhere p is 1. Raises ValueError for no
    values. Source: Efron & Tibshirani 1993, chapters 13 and 15.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    found = mean_with_interval(list(b - a), level, seed, scopes=scopes)
    clusters = None if scopes is None else clusters_of(scopes)
    (p,) = sign_flip_p(b - a, clusters, seed=seed)
    return Difference(
        first=round(float(a.mean()), 6),
        second=round(float(b.mean()), 6),
        mean=found.mean,
        low=found.low,
        high=found.high,
        p=round(float(p), 6),
        wins=int(np.sum(b > a)),
        ties=int(np.sum(b == a)),
        losses=int(np.sum(b < a)),
        n=found.n,
        clusters=found.clusters,
    )
