"""The spread of measured seconds: median, 95th percentile and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DECIMALS = 6
METHOD = (
    "p50 and p95 by linear interpolation between the sorted values: the q-th lies at place "
    "(n - 1) q / 100 counted from 0 (NumPy's 'linear', Hyndman and Fan's type 7)"
)


@dataclass(frozen=True)
class Spread:
    """Percentiles, mean and range of `n` values."""

    p50: float
    p95: float
    mean: float
    least: float
    most: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    """The spread of some values, rounded to 6 decimals; raises ValueError for none.

    With few values p95 is little more than the largest: of 20 it lies between the two largest.
    Source: Hyndman & Fan 1996, type 7.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("no values have no spread")
    p50, p95 = np.percentile(sample, [50, 95])
    figures = (p50, p95, sample.mean(), sample.min(), sample.max())
    half, most_of_them, mean, least, most = (round(float(one), DECIMALS) for one in figures)
    return Spread(half, most_of_them, mean, least, most, len(sample))
