"""A judge whose leaning adds to the quality it sees, instead of deciding some verdicts alone.

The model: A wins where the quality of A over B, normal over the questions, with noise of each
verdict's own, and with what its place and the longer length add, is above 0. Such a judge changes
its mind where the answers are close, so that what it says in both orders is chosen in favour of
clear cases. Two verdicts on each question tell the noise from the spread of quality: their
correlation is that of a bivariate normal distribution (tetrachoric).
"""

from __future__ import annotations

import numpy as np

from graphrag_bench.values import FloatArray

_MOST, _TINY = 0.9995, 1e-9


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
        chances = _cells(at[0], at[1], at[3] if length else 0.0, _correlation(at[2]))
        return -float((counts * np.log(np.maximum(chances, _TINY))).sum()) / float(n)

    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9,
                                                                 "maxiter": 800}).x  # fmt: skip
    return round(float(norm.cdf(found[0] / np.sqrt(_correlation(found[2])))), 6)


def _correlation(at: float) -> float:
    """Any number as a correlation above 0."""
    return float(_MOST / (1 + np.exp(-at)) + 1e-4)


def _cells(quality: float, place: float, length: float, correlation: float) -> FloatArray:
    """The chance of each cell of `counts`, given its length."""
    from scipy.stats import multivariate_normal, norm

    longer = length * np.array([1.0, 0.0, -1.0])
    ends = np.stack([quality + place + longer, quality - place + longer], 1)
    both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(ends)
    first, second = norm.cdf(ends).T
    cells = [[1 - first - second + both, second - both], [first - both, both]]
    return np.moveaxis(np.array(cells), 2, 0)
