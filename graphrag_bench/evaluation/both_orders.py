"""Two methods compared by a judge that saw every pair of answers in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.evaluation.statistics import Mean, mean_with_interval


@dataclass(frozen=True)
class BothOrders:
    """One question: whether A won where it stood first, and where it stood second.

    None where the verdict is missing. `longer` is 1 where A's answer is the longer one, -1 where
    B's is, 0 where they are as long.
    """

    forward: bool | None
    backward: bool | None
    longer: int = 0

    @property
    def points(self) -> float | None:
        """1 when A won in both orders, 0 when B did, 0.5 when they disagree, None when missing."""
        if self.forward is None or self.backward is None:
            return None
        return (self.forward + self.backward) / 2


@dataclass(frozen=True)
class Effect:
    """A rate or difference with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class HeadToHead:
    """A against B over `n` questions with a verdict in both orders; `missing` have not both.

    `rate` is the mean of points, so that a tie counts half. `flips` is the share of questions whose
    winner changes with the order, `first` the share of all verdicts for the answer shown first.
    `longer` is the share of points that the longer answer gets, `length` how much more of the
    points A gets where it is longer than where B is; None where lengths do not differ both ways.
    `p` is the two-sided sign test of wins against losses.
    """

    n: int
    missing: int
    wins: int
    ties: int
    losses: int
    rate: Mean | None
    flips: Effect | None
    first: Mean | None
    longer: Mean | None
    length: Effect | None
    p: float


def head_to_head(pairs: Sequence[BothOrders], seed: int = 0) -> HeadToHead:
    """What the verdicts on the questions come to; rates are None where no question has both."""
    from scipy.stats import binomtest

    known = [(pair, pair.points) for pair in pairs if pair.points is not None]
    points = [value for _, value in known if value is not None]
    wins, losses = points.count(1.0), points.count(0.0)
    ties = len(points) - wins - losses
    firsts = [(bool(pair.forward) + (not pair.backward)) / 2 for pair, _ in known]
    of_a = [value for pair, value in known if pair.longer == 1 and value is not None]
    of_b = [value for pair, value in known if pair.longer == -1 and value is not None]
    longer = [*of_a, *[1 - value for value in of_b]]
    return HeadToHead(
        len(points),
        len(pairs) - len(points),
        wins,
        ties,
        losses,
        mean_with_interval(points, seed=seed) if points else None,
        proportion(ties, len(points)) if points else None,
        mean_with_interval(firsts, seed=seed) if points else None,
        mean_with_interval(longer, seed=seed) if longer else None,
        _difference(of_a, of_b, seed) if min(len(of_a), len(of_b)) > 1 else None,
        round(float(binomtest(wins, wins + losses).pvalue), 6) if wins + losses else 1.0,
    )


def proportion(count: int, total: int) -> Effect:
    """A share with its 95 % Wilson interval; raises ValueError for a total of 0.

    Source: Wilson 1927.
    """
    from scipy.stats import binomtest

    interval = binomtest(count, total).proportion_ci(method="wilson")
    rounded = (round(float(v), 6) for v in (count / total, interval.low, interval.high))
    return Effect(*rounded)


def _difference(first: Sequence[float], second: Sequence[float], seed: int) -> Effect:
    """The difference of two means with its bootstrap interval, both resampled."""
    import numpy as np
    from scipy.stats import bootstrap

    value = sum(first) / len(first) - sum(second) / len(second)
    if len({*first}) == 1 and len({*second}) == 1:
        return Effect(round(value, 6), round(value, 6), round(value, 6))

    def means(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.mean(a, axis=axis) - np.mean(b, axis=axis))

    interval = bootstrap(
        (np.asarray(first), np.asarray(second)), means, n_resamples=2000, method="percentile",
        vectorized=True, rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    return Effect(*(round(float(v), 6) for v in (value, interval.low, interval.high)))


def win_matrix(rates: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """The percentage of row against column, from rates of row against column above the diagonal.

    The diagonal is 50, and a cell and its mirror sum to 100. Source: Zhou et al. 2025, Fig. 7.
    """
    n = len(rates)
    cells: list[list[float | None]] = [[50.0] * n for _ in range(n)]
    for row in range(n):
        for column in range(row + 1, n):
            rate = rates[row][column]
            cells[row][column] = None if rate is None else 100 * rate
            cells[column][row] = None if rate is None else 100 * (1 - rate)
    return cells
