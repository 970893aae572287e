"""Stored runs compared with a stored run of the baseline: the table of differences, at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.errors import UserError, nearest
from graphrag_bench.report.comparisons import Compared, comparison_table
from graphrag_bench.report.rendering import Table
from graphrag_bench.runs.rescoring import scores_by
from graphrag_bench.runs.stored import StoredRun, stored_runs
from graphrag_bench.sweeps.baseline import NONE


def with_baseline(runs: Sequence[StoredRun], baseline: str, home: str | Path) -> list[StoredRun]:
    """The runs, and the stored ones of the method `baseline` on their sets where they lack it.

    Raises UserError, with the methods that have runs, when no run of it is stored.
    """
    sets = {run.metrics["dataset"] for run in runs}
    if baseline == NONE or any(run.metrics["method"] == baseline for run in runs):
        return list(runs)
    candidates = [run for run in stored_runs(home) if run.metrics.get("dataset") in sets]
    found = [run for run in candidates if run.metrics.get("method") == baseline]
    if not found:
        known = {str(run.metrics.get("method")) for run in candidates}
        close = ", ".join(nearest(baseline, known) or sorted(known)) or "none"
        raise UserError(
            f"evaluation.baseline={baseline}: no run of it on {', '.join(sorted(sets))} is stored "
            f"below {home}; there are runs of: {close}."
        )
    return [*runs, *found]


def stored_differences(runs: Sequence[StoredRun], added: Sequence[StoredRun] = ()) -> Table | None:
    """The differences of runs from the baseline that the first one names, all scored as it is.

    The baseline is looked for among the runs, then in `added`. None when it is in neither.
    """
    asked = runs[0].evaluation
    every = [*runs, *(run for run in added if run.folder.path not in _folders(runs))]
    compared = [Compared(run.metrics, scores_by(run, asked), run.scopes) for run in every]
    return comparison_table(compared, asked.baseline, asked.compared)


def _folders(runs: Sequence[StoredRun]) -> set[Path]:
    return {run.folder.path for run in runs}
