"""Means with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000


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
