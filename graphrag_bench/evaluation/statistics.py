"""Means with bootstrap intervals, and differences of paired values with a permutation test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
PERMUTATIONS = 9999


@dataclass(frozen=True)
class Mean:
    """A mean over `n` questions with its bootstrap interval `low`..`high`."""

    mean: float
    low: float
    high: float
    n: int


def mean_with_interval(values: Sequence[float], level: float = 0.95, seed: int = 0) -> Mean:
    """The mean and its percentile bootstrap interval, rounded to 6 decimals.

    One value, or values that are all equal, give an interval of no width. Raises ValueError for
    no values. Source: Efron & Tibshirani 1993, chapter 13.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values to average")
    low = high = float(sample.mean())
    if len(sample) > 1 and float(np.ptp(sample)) > 0:
        from scipy.stats import bootstrap

        interval = bootstrap(
            (sample,), np.mean, confidence_level=level, n_resamples=RESAMPLES,
            method="percentile", rng=np.random.default_rng(seed),
        ).confidence_interval  # fmt: skip
        low, high = float(interval.low), float(interval.high)
    return Mean(round(float(sample.mean()), 6), round(low, 6), round(high, 6), len(sample))


@dataclass(frozen=True)
class Difference:
    """Second minus first over `n` questions that both have.

    `low`..`high` is the bootstrap interval of the mean difference, `p` the two-sided p-value of a
    paired permutation test; `wins` counts the questions where the second is higher.
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


def paired_difference(
    first: Sequence[float], second: Sequence[float], level: float = 0.95, seed: int = 0
) -> Difference:
    """The mean of second - first with its interval, and whether chance alone would explain it.

    The test swaps the two values of a question by chance: all ways where there are few, else
    `PERMUTATIONS` of them; with no difference anywhere p is 1. Raises ValueError for no values.
    Source: Efron & Tibshirani 1993, chapters 13 and 15.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    found = mean_with_interval(list(b - a), level, seed)
    p = 1.0
    if np.any(a != b):
        from scipy.stats import permutation_test

        p = float(permutation_test(
            (b - a,), np.mean, permutation_type="samples", n_resamples=PERMUTATIONS,
            vectorized=True, rng=np.random.default_rng(seed),
        ).pvalue)  # fmt: skip
    return Difference(
        first=round(float(a.mean()), 6),
        second=round(float(b.mean()), 6),
        mean=found.mean,
        low=found.low,
        high=found.high,
        p=round(p, 6),
        wins=int(np.sum(b > a)),
        ties=int(np.sum(b == a)),
        losses=int(np.sum(b < a)),
        n=found.n,
    )
