"""A judge's preference corrected for its position bias and length bias.

The model: each verdict is decided by the quality of the answers, by their position, or by their
length, each with its own weight; a judge that tosses a coin prefers either position half the time.
Which answer is better is a property of the question: it is the same in both orders and does not
depend on which one is longer. Both orders of many questions identify the weights: quality wins in
both orders, position in one, length in both but for the longer answer.

Verdicts alone cannot tell such a judge from one whose leaning adds to the quality it sees, instead
of deciding some verdicts alone: `by_degree` is the rate of that other model, and tables print both.
There A wins where the quality of A over B, normal over the questions, with noise of each verdict's
own, and with what its place and the longer length add, is above 0. Such a judge changes its mind
where the answers are close, so that what it says in both orders is chosen in favour of clear cases.
Two verdicts on each question tell the noise from the spread of quality: their correlation is that
of a bivariate normal distribution (tetrachoric).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.analysis.judging.both_orders import BothOrders
from graphrag_bench.evaluation.significance import clusters_of
from graphrag_bench.evaluation.statistics import resampled_sums
from graphrag_bench.values import FloatArray

QUALITY, FIRST, SECOND, LONGER, SHORTER = range(5)
FEWEST = 10
"""Questions, of all and of each kind of length, without which nothing is corrected."""
_ITERATIONS, _WARM = 4000, 200
_RESAMPLES = 200
_TINY = 1e-12
_MOST, _LEAST = 0.9995, 1e-9


@dataclass(frozen=True)
class Corrected:
    """The share of questions whose A is better, in 0..1, with its 95 % bootstrap interval.

    `quality` is the weight of quality in the verdicts, `place` that of the first place less that of
    the second, `length` that of the longer answer less that of the shorter, all in -1..1.
    `by_degree` is the rate by the other model of a judge (`rate_by_degree`).
    """

    rate: float
    low: float
    high: float
    quality: float
    place: float
    length: float
    by_degree: float

    @property
    def decided(self) -> bool:
        """Whether both models of the judge say the same answer is better more often."""
        return (self.rate - 0.5) * (self.by_degree - 0.5) > 0


def corrected(
    pairs: Sequence[BothOrders], *, length: bool, scopes: Sequence[str | None] | None = None
) -> Corrected | str:
    """The rate without the judge's leaning to a place, and with `length` to longer answers.

    Fitted by expectation maximisation to the counts of verdicts. In the place of a rate it returns
    why there is none: too few questions, lengths that do not differ both ways, or verdicts that
    place and length explain as well alone (likelihood ratio test at 1 %), as those of a judge that
    always takes the first answer. The interval draws questions of one scope together; the test
    takes all questions as independent. Source: Dempster, Laird & Rubin 1977; Wilks 1938.
    """
    from scipy.stats import chi2

    cells, clusters = _cells(pairs, scopes)
    counts: FloatArray = cells.sum(0)
    n = len(cells)
    if n < FEWEST:
        return f"{n} questions with both orders are too few; {FEWEST} are needed"
    if length and min(counts[0].sum(), counts[2].sum()) < FEWEST:
        return f"fewer than {FEWEST} questions have the longer answer on either side"
    one = counts[None]
    start = _start(counts, length)
    share, weights, likelihood = _fit(one, *start, _ITERATIONS)
    without = np.array(start[1])
    without[:, QUALITY] = 0
    null = _fit(one, start[0], without / without.sum(), _ITERATIONS)[2]
    if 2 * float(likelihood[0] - null[0]) < chi2.ppf(0.99, 2):
        return f"place{' and length explain' if length else ' explains'} the verdicts as well"
    drawn = resampled_sums(cells, clusters, _RESAMPLES, np.random.default_rng(0))
    shares, _, _ = _fit(
        drawn, np.repeat(share, _RESAMPLES), np.repeat(weights, _RESAMPLES, 0), _WARM
    )
    low, high = np.quantile(shares, [0.025, 0.975])
    of = weights[0]
    return Corrected(
        round(float(share[0]), 6),
        round(float(low), 6),
        round(float(high), 6),
        quality=round(float(of[QUALITY]), 6),
        place=round(float(of[FIRST] - of[SECOND]), 6),
        length=round(float(of[LONGER] - of[SHORTER]), 6),
        by_degree=rate_by_degree(counts, length=length),
    )


def _cells(
    pairs: Sequence[BothOrders], scopes: Sequence[str | None] | None
) -> tuple[FloatArray, NDArray[np.int64] | None]:
    """The cell of each question that has both verdicts, (n, 3, 2, 2), and the clusters of these.

    Cells are by length (A longer, same, B longer), and by whether A won first and second.
    """
    of = [None] * len(pairs) if scopes is None else scopes
    known = [
        (pair, scope)
        for pair, scope in zip(pairs, of, strict=True)
        if pair.forward is not None and pair.backward is not None
    ]
    cells: FloatArray = np.zeros((len(known), 3, 2, 2))
    for row, (pair, _) in enumerate(known):
        cells[row, 1 - pair.longer, int(bool(pair.forward)), int(bool(pair.backward))] = 1
    return cells, clusters_of([scope for _, scope in known])


def _start(counts: FloatArray, length: bool) -> tuple[FloatArray, FloatArray]:
    n = counts.sum()
    share = (counts[:, 1].sum() + counts[:, :, 1].sum()) / (2 * n)
    weights = np.array([0.5, 0.2, 0.2, 0.1, 0.1]) if length else np.array([0.5, 0.25, 0.25, 0, 0])
    return np.array([min(max(float(share), 0.02), 0.98)]), (weights / weights.sum())[None]


def _wins() -> FloatArray:
    """Whether A wins: by which is better (A, B), order, length, verdict (no, yes), and cause."""
    wins = np.zeros((2, 2, 3, 5))
    wins[0, ..., QUALITY] = 1
    wins[:, 0, :, FIRST] = wins[:, 1, :, SECOND] = 1
    wins[..., LONGER] = np.array([1, 0.5, 0])
    wins[..., SHORTER] = np.array([0, 0.5, 1])
    return np.stack([1 - wins, wins], axis=3)


def _fit(
    counts: FloatArray, share: FloatArray, weights: FloatArray, iterations: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share (r,), weights (r, 5) and log-likelihood (r,) of r tables of counts (r, 3, 2, 2).

    A weight that begins at 0 stays there.
    """
    wins = _wins()
    for _ in range(iterations):
        chance = np.maximum(np.einsum("zodvc,rc->rzodv", wins, weights), _TINY)
        better = np.stack([share, 1 - share], 1)[:, :, None, None, None]
        joint = better * chance[:, :, 0, :, :, None] * chance[:, :, 1, :, None, :]
        weighted = counts[:, None] * joint / np.maximum(joint.sum(1, keepdims=True), _TINY)
        by_order = np.stack([weighted.sum(4), weighted.sum(3)], axis=2)
        caused = np.einsum("zodvc,rzodv->rc", wins, by_order / chance) * weights
        before, weights = weights, caused / caused.sum(1, keepdims=True)
        moved = weighted[:, 0].sum((1, 2, 3)) / counts.sum((1, 2, 3))
        still = max(np.abs(weights - before).max(), np.abs(moved - share).max()) < 1e-8
        share = moved
        if still:
            break
    chance = np.maximum(np.einsum("zodvc,rc->rzodv", wins, weights), _TINY)
    better = np.stack([share, 1 - share], 1)[:, :, None, None, None]
    joint = (better * chance[:, :, 0, :, :, None] * chance[:, :, 1, :, None, :]).sum(1)
    return share, weights, (counts * np.log(np.maximum(joint, _TINY))).sum((1, 2, 3))


def rate_by_degree(counts: FloatArray, *, length: bool) -> float:
    """The share of questions whose A is better, in 0..1, by maximum likelihood.

    `counts` is (3, 2, 2): questions by length (A longer, same, B longer) and by whether A won
    where it stood first and where it stood second. Source: Pearson 1900 (tetrachoric
    correlation); Thurstone 1927 for the scale.
    """
    from scipy.optimize import minimize
    from scipy.stats import norm

    n = counts.sum()
    first, second = counts[:, 1].sum() / n, counts[:, :, 1].sum() / n
    ends = norm.ppf(np.clip([first, second], 0.5 / n, 1 - 0.5 / n))
    start = np.array([ends.mean(), (ends[0] - ends[1]) / 2, 1.0, *([0.0] if length else [])])

    def loss(at: FloatArray) -> float:
        chances = _chances_of(at[0], at[1], at[3] if length else 0.0, _correlation(at[2]))
        return -float((counts * np.log(np.maximum(chances, _LEAST))).sum()) / float(n)

    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9,
                                                                 "maxiter": 800}).x  # fmt: skip
    return round(float(norm.cdf(found[0] / np.sqrt(_correlation(found[2])))), 6)


def _correlation(at: float) -> float:
    """Any number as a correlation above 0."""
    return float(_MOST / (1 + np.exp(-at)) + 1e-4)


def _chances_of(quality: float, place: float, length: float, correlation: float) -> FloatArray:
    """The chance of each cell of `counts`, given its length."""
    from scipy.stats import multivariate_normal, norm

    longer = length * np.array([1.0, 0.0, -1.0])
    ends = np.stack([quality + place + longer, quality - place + longer], 1)
    both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(ends)
    first, second = norm.cdf(ends).T
    cells = [[1 - first - second + both, second - both], [first - both, both]]
    return np.moveaxis(np.array(cells), 2, 0)
