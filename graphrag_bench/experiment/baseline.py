"""Runs compared with a baseline, finished or stored, and what settings name for it beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import names
from graphrag_bench.errors import UserError, nearest, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, Source, metric_names
from graphrag_bench.experiment.execute import RunResult, selection
from graphrag_bench.experiment.repeats import scores_over_repeats
from graphrag_bench.report.comparisons import Compared, Comparison, comparisons
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.tables import shown_tables
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun, stored_runs

NONE = "none"


def check_names(settings: RunSettings) -> None:
    """Raise UserError for a baseline, a compared metric or an objective that no run can have.

    A misspelt name thus costs nothing. Whether the data set has what a metric needs is seen when a
    run has been scored.
    """
    known = {*names("method"), str(settings.method.get("name")), NONE}
    if settings.evaluation.baseline not in known:
        raise UserError(
            f"evaluation.baseline: {unknown('method', settings.evaluation.baseline, known)}"
        )
    evidence = _metrics(settings, "retrieved", "context")
    answers = _metrics(settings, "answer", "judge")
    for name in settings.evaluation.compared:
        if name not in (*evidence, *answers):
            raise UserError(f"evaluation.compared: {unknown('metric', name, evidence + answers)}")
    wanted = settings.objective
    if wanted is None:
        return
    if wanted in UNDIRECTED:
        raise UserError(f"objective={wanted}: of that metric more is not better; name another.")
    if wanted in answers and not settings.answering:
        raise UserError(f"objective={wanted}: Metrics of answers need answer=on.")
    if wanted not in (*evidence, *answers):
        metrics = evidence + answers * settings.answering
        raise UserError(f"objective={wanted}: {unknown('metric', wanted, metrics)}")
    if settings.split == "test":
        raise UserError("objective chooses settings: split=dev; report it on split=test.")


def _metrics(settings: RunSettings, *sources: Source) -> list[str]:
    evaluation = settings.evaluation
    return metric_names(sources, evaluation.cuts, evaluation.evidence_tokens)


def differences(results: Sequence[RunResult]) -> list[Comparison]:
    """The differences from the baseline that the first run names.

    [] when it names none, and when there is no other method next to a run of the baseline.
    """
    asked = results[0].experiment.settings.evaluation
    held = {result.experiment.method.name for result in results}
    if asked.baseline not in held or len(results) < 2:
        return []
    return comparisons([_compared(one) for one in results], asked.baseline, asked.compared)


def result_tables(
    results: Sequence[RunResult], found: Sequence[Comparison], columns: str
) -> list[Table]:
    """The tables to print of finished runs, with `found`, their differences from the baseline.

    The main metric is the first of `evaluation.compared`, else the objective, of the first run.
    """
    settings = results[0].experiment.settings
    scoring = settings.evaluation
    metric = next(iter(scoring.compared), settings.objective)
    metrics = [result.metrics for result in results]
    return shown_tables(metrics, found, columns=columns, metric=metric, baseline=scoring.baseline)


def _compared(result: RunResult) -> Compared:
    experiment = result.experiment
    selected = {question.id for question in selection(experiment)[0]}
    scores = scores_over_repeats(experiment)
    scopes = {question.id: question.scope for question in experiment.dataset.questions}
    mine = {question: held for question, held in scores.items() if question in selected}
    return Compared(result.metrics, mine, scopes)


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


def stored_differences(
    runs: Sequence[StoredRun], added: Sequence[StoredRun] = ()
) -> list[Comparison]:
    """The differences of runs from the baseline that the first one names, all scored as it is.

    The baseline is looked for among the runs, then in `added`. [] when it is in neither.
    """
    asked = runs[0].evaluation
    paths = {run.folder.path for run in runs}
    every = [*runs, *(run for run in added if run.folder.path not in paths)]
    compared = [Compared(run.metrics, scores_of(run, asked), run.scopes) for run in every]
    return comparisons(compared, asked.baseline, asked.compared)
