"""The paired permutation test of two runs, and the same by SciPy.

Two made-up runs of 10,000 graded questions: four in ten score 0, three in ten 1, the rest a
fraction as F1 has. `ours` and `reference` are tests a second, one metric each, the median of
repeats; p50 and p95 are ours in milliseconds. The reference is `scipy.stats.permutation_test` with
the same draws in blocks of 4,000,000 signs; another p-value is an error.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from graphrag_bench.evaluation.significance import PERMUTATIONS, sign_flip_p

N_QUESTIONS, N_OURS, N_REFERENCE = 10_000, 20, 3
NEAR = 1e-9
Numbers = tuple[float, float, str, dict[str, float]]


def graded(seed: int) -> NDArray[np.float64]:
    """The scores of one run."""
    chance = np.random.default_rng(seed)
    share = chance.random(N_QUESTIONS)
    fraction = chance.integers(1, 20, N_QUESTIONS) / chance.integers(20, 40, N_QUESTIONS)
    return np.where(share < 0.4, 0.0, np.where(share < 0.7, 1.0, fraction))


def by_scipy(differences: NDArray[np.float64]) -> float:
    """The mid-p value from SciPy's sums."""
    kept = differences[differences != 0]
    null = np.abs(permutation_test(
        (kept,), np.sum, permutation_type="samples", n_resamples=PERMUTATIONS, vectorized=True,
        batch=4_000_000 // len(kept), rng=np.random.default_rng(0),
    ).null_distribution)  # fmt: skip
    observed = abs(differences.sum())
    equal = np.abs(null - observed) <= NEAR
    further = np.sum((null > observed) & ~equal)
    return float((further + 0.5 * (np.sum(equal) + 1)) / (PERMUTATIONS + 1))


def seconds(function: Callable[[], float], repeats: int) -> tuple[list[float], float]:
    """The time of each repeat, and what came out."""
    taken, found = [], 0.0
    for _ in range(repeats):
        began = time.perf_counter()
        found = function()
        taken.append(time.perf_counter() - began)
    return taken, found


def of_two_runs() -> Numbers:
    """Tests a second of both, which must give the same p."""
    differences = graded(2) - graded(1)
    mine, p = seconds(lambda: float(sign_flip_p(differences)[0]), N_OURS)
    other, expected = seconds(lambda: by_scipy(differences), N_REFERENCE)
    if p != expected:
        raise AssertionError(f"p is {p}, and by SciPy {expected}")
    p50, p95 = (1000 * float(np.percentile(mine, part)) for part in (50, 95))
    return 1000 / p50, 1 / statistics.median(other), "tests/s", {"p50": p50, "p95": p95}


CASES = {"10k": of_two_runs}
