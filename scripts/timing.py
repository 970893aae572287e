"""How the suites of benchmarks time what they compare: in turns, by the clock, at the median."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Numbers = tuple[float, float, str, Mapping[str, float]]
"""Ours, the reference, their unit; further columns."""


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long a call takes, with what others left behind collected before."""
    gc.collect()
    began = clock()
    call()
    return clock() - began


def in_turns(
    ours: Callable[[], object], reference: Callable[[], object], n_repeats: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of both over repeats that take turns."""
    pairs = [(seconds(ours), seconds(reference)) for _ in range(n_repeats)]
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def rates(
    n_items: int, mine: Sequence[float], other: Sequence[float], unit: str, **more: float
) -> Numbers:
    """Return items a second of both at the median, with p50 and p95 of ours, p95 the slow end."""
    p50, p95 = (n_items / float(np.percentile(mine, part)) for part in (50, 95))
    return p50, n_items / float(np.median(other)), unit, {"p50": p50, "p95": p95, **more}


def milliseconds(
    n_questions: int, mine: Sequence[float], other: Sequence[float], **more: float
) -> Numbers:
    """Return questions a second of both at the median, with p50 and p95 of ours in ms a call."""
    ours, reference, unit, _ = rates(n_questions, mine, other, "questions/s")
    times = {f"p{part}": 1000 * float(np.percentile(mine, part)) for part in (50, 95)}
    return ours, reference, unit, {**times, **more}
