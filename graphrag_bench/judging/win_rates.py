"""Win rates of two runs by a judge that saw both orders, and the agreement of two judges."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.evaluation.statistics import (
    Mean,
    clusters_of,
    mean_with_interval,
    resampled_sums,
    sign_flip_p,
)

ItemT = TypeVar("ItemT", bound=Hashable)
Item = tuple[str, str, str, str]
"""Question, two runs in the order of the comparison, and criterion."""
Labels = Mapping[Item, str]
"""`A` where the first run of the item won, `B` where the second did, `tie`."""
_RESAMPLES = 500


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
    `longer` is the share of points that the longer answer gets, None where none is longer.
    Intervals draw questions of one scope together, and `p` turns them together: it is that of
    `sign_flip_p` on the points of A less those of B, which is a sign test (mid-p) of wins against
    losses where no scope holds two questions.
    """

    n: int
    missing: int
    wins: int = 0
    ties: int = 0
    losses: int = 0
    rate: Mean | None = None
    flips: Mean | None = None
    first: Mean | None = None
    longer: Mean | None = None
    p: float = 1.0


def head_to_head(
    pairs: Sequence[BothOrders], *, scopes: Sequence[str | None] | None = None
) -> HeadToHead:
    """Return the win rates from the verdicts on the questions.

    `scopes` are those of the questions, in the same order.
    """
    every = scopes or [None] * len(pairs)
    known = [(one, of) for one, of in zip(pairs, every, strict=True) if one.points is not None]
    n = len(known)
    if not known:
        return HeadToHead(0, len(pairs))
    points = np.array([pair.points for pair, _ in known], float)
    lengths = np.array([pair.longer for pair, _ in known])
    drawn = [scope for _, scope in known]

    def mean(values: Iterable[float], scopes: Sequence[str | None] = drawn) -> Mean:
        return mean_with_interval([float(value) for value in values], scopes=scopes)

    wins, losses, ties = int(np.sum(points == 1)), int(np.sum(points == 0)), points == 0.5
    longer = np.where(lengths == 1, points, 1 - points)[lengths != 0]
    of_longer = [scope for scope, one in zip(drawn, lengths, strict=True) if one]
    clusters = clusters_of(drawn)
    (p,) = sign_flip_p(2 * points - 1, clusters)
    return HeadToHead(
        n,
        len(pairs) - n,
        wins,
        n - wins - losses,
        losses,
        rate=mean(points),
        # Wilson's interval has a width also where all or none are ties
        flips=proportion(int(ties.sum()), n) if clusters is None else mean(ties),
        first=mean((bool(pair.forward) + (not pair.backward)) / 2 for pair, _ in known),
        longer=mean(longer, of_longer) if len(longer) else None,
        p=round(float(p), 6),
    )


def proportion(count: int, total: int) -> Mean:
    """Return a share with its 95 % Wilson interval; raise ValueError for a total of 0.

    Source: Wilson 1927.
    """
    from scipy.stats import binomtest

    interval = binomtest(count, total).proportion_ci(method="wilson")
    low, high = round(float(interval.low), 6), round(float(interval.high), 6)
    return Mean(round(count / total, 6), low, high, total)


@dataclass(frozen=True)
class Agreement:
    """Over the `n` items that both have labelled: the share labelled alike, and Cohen's kappa.

    `kappa` is 1 for agreement everywhere, 0 for as much as chance gives, with its 95 % bootstrap
    interval; None where both give one and the same label throughout, which chance explains whole.
    """

    n: int
    alike: float
    kappa: float | None
    low: float | None = None
    high: float | None = None


def agreement(
    first: Mapping[ItemT, str],
    second: Mapping[ItemT, str],
    *,
    scope: Callable[[ItemT], str] | None = None,
) -> Agreement | None:
    """Return the agreement over the items that both have; None when there is no such item.

    The interval draws items of one `scope` together, those on one question for instance.
    Source: Cohen 1960.
    """
    items = [item for item in first if item in second]
    if not items:
        return None
    labels = sorted({rater[item] for item in items for rater in (first, second)})
    cells = np.zeros((len(items), len(labels), len(labels)))
    for row, item in enumerate(items):
        cells[row, labels.index(first[item]), labels.index(second[item])] = 1
    alike = round(float(np.trace(cells.sum(0))) / len(items), 6)
    kappa = _kappa(cells.sum(0))
    if np.isnan(kappa):
        return Agreement(len(items), alike, None)
    clusters = None if scope is None else clusters_of([scope(item) for item in items])
    samples = resampled_sums(cells, clusters, _RESAMPLES, np.random.default_rng(0))
    low, high = np.nanquantile([_kappa(counts) for counts in samples], [0.025, 0.975])
    ends = (round(float(one), 6) for one in (kappa, low, high))
    return Agreement(len(items), alike, *ends)


def _kappa(counts: NDArray[Any]) -> float:
    from sklearn.metrics import cohen_kappa_score

    first, second = np.indices(counts.shape).reshape(2, -1)
    with warnings.catch_warnings(action="ignore"):  # of a sample with one label: it has no kappa
        return float(cohen_kappa_score(first, second, sample_weight=counts.ravel()))
