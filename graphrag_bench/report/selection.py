"""The best of several configurations, and the mark of a value chosen because it is high.

The highest of many values on the same questions is biased upwards: it has the luck of its questions
as well as its merit. On other questions the luck is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError, unknown

INFLATED = (
    "selected on this split: the best of several configurations on the questions it is scored on, "
    "so its value is too high; the value to report is that of split=test"
)
REFERENCE_ROLES = ("floor", "ceiling")
"""The roles of reference rows: not configurations, and compared with nothing."""
Run = Mapping[str, Any]


def best_of(runs: Sequence[Run], metric: str) -> tuple[int, dict[str, Any]]:
    """The place of the run with the highest mean of `metric`, and what its selection was.

    Of equal means the first wins, and `n_equal` says how many others are as high. Floor and ceiling
    are not configurations. Runs with failed questions are not compared: their means are over other
    questions. Raises UserError when no run is left, and for a metric that none of them has. Runs
    are what `metrics.json` holds.
    """
    tuned = [row for row, run in enumerate(runs) if run["role"] not in REFERENCE_ROLES]
    whole = [row for row in tuned if not runs[row]["failed"]]
    if not whole:
        raise UserError(
            f"objective={metric}: no configuration has been scored on all its questions; run the "
            "same command again to retry those that failed."
        )
    compared = [row for row in whole if metric in runs[row]["metrics"]]
    if not compared:
        raise unknown("objective", metric, {name for row in whole for name in runs[row]["metrics"]})
    means = {row: runs[row]["metrics"][metric]["mean"] for row in compared}
    best = max(compared, key=means.__getitem__)
    chosen = runs[best]
    return best, {
        "metric": metric,
        "split": chosen.get("split", "all"),
        "dev_share": chosen.get("dev_share"),
        "limit": chosen["limit"],
        "n_configurations": len(tuned),
        "n_equal": list(means.values()).count(means[best]) - 1,
    }


def mark(run: Run) -> str:
    """`(selected on this split, n configurations)` for a run that was, or "".

    It holds for every run that is scored on questions it was chosen on. Only the dev and the test
    part of one division have no question in common.
    """
    counts = [held["n_configurations"] for held in run.get("selections", ()) if _same(held, run)]
    n = max(counts, default=1)
    return f"(selected on this split, {n} configurations)" if n > 1 else ""


def _same(selection: Run, run: Run) -> bool:
    apart = {selection["split"], run.get("split", "all")} == {"dev", "test"}
    return not (apart and selection["dev_share"] == run.get("dev_share"))
