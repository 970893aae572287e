"""Two methods compared by a judge that saw every pair of answers in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.evaluation.statistics import Mean, clusters_of, mean_with_interval, sign_flip_p


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
class HeadToHead:
    """A against B over `n` questions with a verdict in both orders; `missing` have not both.

    `rate` is the mean of points, so that a tie counts half. `flips` is the share of questions whose
    winner changes with the order, `first` the share of all verdicts for the answer shown first.
    `longer` is the share of points that the longer answer gets, `length` how much more of the
    points A gets where it is longer than where B is; None where lengths do not differ both ways.
    Intervals draw questions of one scope together, and `p` turns them together: it is that of
    `sign_flip_p` on the points of A less those of B, which is a sign test (mid-p) of wins against
    losses where no scope holds two questions.
    """

    n: int
    missing: int
    wins: int
    ties: int
    losses: int
    rate: Mean | None
    flips: Mean | None
    first: Mean | None
    longer: Mean | None
    length: Mean | None
    p: float


def head_to_head(
    pairs: Sequence[BothOrders], *, scopes: Sequence[str | None] | None = None
) -> HeadToHead:
    """The win rates from the verdicts on the questions; None where no question has both orders.

    `scopes` are those of the questions, in the same order.
    """
    of = [None] * len(pairs) if scopes is None else scopes
    known = [
        (pair, pair.points, scope)
        for pair, scope in zip(pairs, of, strict=True)
        if pair.points is not None
    ]
    if not known:
        return HeadToHead(0, len(pairs), 0, 0, 0, None, None, None, None, None, 1.0)
    points = np.array([value for _, value, _ in known])
    lengths = np.array([pair.longer for pair, _, _ in known])
    firsts = np.array([(bool(pair.forward) + (not pair.backward)) / 2 for pair, _, _ in known])
    held = [scope for _, _, scope in known]
    wins, losses = int(np.sum(points == 1)), int(np.sum(points == 0))
    differ = lengths != 0
    longer = np.where(lengths == 1, points, 1 - points)[differ]
    of_longer = [scope for scope, one in zip(held, differ, strict=True) if one]
    (p,) = sign_flip_p(2 * points - 1, clusters_of(held))
    return HeadToHead(
        len(known),
        len(pairs) - len(known),
        wins,
        len(known) - wins - losses,
        losses,
        mean_with_interval(list(points), scopes=held),
        _flips(points == 0.5, held),
        mean_with_interval(list(firsts), scopes=held),
        mean_with_interval(list(longer), scopes=of_longer) if len(longer) else None,
        _length_effect(points, lengths, held),
        round(float(p), 6),
    )


def _flips(flipped: NDArray[Any], scopes: Sequence[str | None]) -> Mean:
    """The share of ties: with Wilson's interval, or a bootstrap one where questions share scopes.

    Wilson's has a width also where all or none are ties.
    """
    if clusters_of(scopes) is None:
        return proportion(int(flipped.sum()), len(flipped))
    return mean_with_interval([float(one) for one in flipped], scopes=scopes)


def _length_effect(
    points: NDArray[Any], lengths: NDArray[Any], scopes: Sequence[str | None]
) -> Mean | None:
    """The mean of the points of A where it is longer less that where B is, in -1..1.

    None where either side has less than two questions. The interval is that of the mean of what
    each question adds to the difference (its influence), whose mean is the difference itself.
    Source: Davison & Hinkley 1997, section 2.7 (nonparametric delta method).
    """
    of_a, of_b = lengths == 1, lengths == -1
    if min(of_a.sum(), of_b.sum()) < 2:
        return None
    mean_a, mean_b = points[of_a].mean(), points[of_b].mean()
    added = of_a * (points - mean_a) / of_a.sum() - of_b * (points - mean_b) / of_b.sum()
    found = mean_with_interval(list(mean_a - mean_b + len(points) * added), scopes=scopes)
    return replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))


def proportion(count: int, total: int) -> Mean:
    """A share with its 95 % Wilson interval; raises ValueError for a total of 0.

    Source: Wilson 1927.
    """
    from scipy.stats import binomtest

    interval = binomtest(count, total).proportion_ci(method="wilson")
    low, high = round(float(interval.low), 6), round(float(interval.high), 6)
    return Mean(round(count / total, 6), low, high, total)


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
