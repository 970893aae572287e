"""The smallest difference that n questions can detect, before a run and from one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrag_bench.evaluation.significance import cluster_sums, clusters_of

LEVEL, POWER = 0.05, 0.8
DISCORDANT = 0.5
"""The share of questions that just one of two methods answers rightly, where nothing is known: that
of two independent methods that are each right half of the time."""


def _reach() -> float:
    from statistics import NormalDist

    quantile = NormalDist().inv_cdf
    return quantile(1 - LEVEL / 2) + quantile(POWER)


def detectable_difference(
    differences: Sequence[float], scopes: Sequence[str | None] | None = None
) -> float | None:
    """The true mean difference that a test at 5 % finds 4 times of 5, given how these ones spread.

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
    return round(_reach() * error, 6) if error > 0 else None


def detectable_share(n_questions: int, discordant: float = DISCORDANT) -> float:
    """The difference of two shares of questions that `n_questions` pairs detect, at most 1.

    Known before a run: (z_0.975 + z_0.8) * sqrt(`discordant` / n), where `discordant` is the share
    of questions that count for just one of the two. Power 80 %, two-sided level 5 %.
    Raises ValueError for no questions. Source: Connor 1987, with the variance under the null for
    both parts, which is the larger one; Miller 2024 (arXiv 2411.00640), section 5.
    """
    if n_questions < 1:
        raise ValueError("no questions, no difference to detect")
    return round(min(1.0, _reach() * math.sqrt(discordant / n_questions)), 6)
