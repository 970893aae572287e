"""Finished runs compared with a baseline: scores per question, and the table of differences."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.config.choices import names
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.execute import RunResult, selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.repeats import scores_over_repeats
from graphrag_bench.report.comparisons import Compared, comparison_table
from graphrag_bench.report.rendering import Table
from graphrag_bench.sweeps.objectives import check_compared

NONE = "none"


def check_baseline(experiments: Sequence[Experiment]) -> None:
    """Raise UserError for a baseline that is neither a method nor `none`, or an unknown metric."""
    for experiment in experiments:
        check_compared(experiment.settings)
        wanted = experiment.settings.evaluation.baseline
        known = {*names("method"), *(one.method.name for one in experiments), NONE}
        if wanted not in known:
            hint = did_you_mean(wanted, sorted(known))
            raise UserError(f"evaluation.baseline: there is no method '{wanted}'. {hint}")


def differences(results: Sequence[RunResult]) -> Table | None:
    """The table of differences from the baseline that the first run names.

    None when it names none, and when there is no other method next to a run of the baseline.
    """
    asked = results[0].experiment.settings.evaluation
    held = {result.experiment.method.name for result in results}
    if asked.baseline not in held or len(results) < 2:
        return None
    return comparison_table([_compared(one) for one in results], asked.baseline, asked.compared)


def _compared(result: RunResult) -> Compared:
    experiment = result.experiment
    selected = {question.id for question in selection(experiment)[0]}
    scores = scores_over_repeats(experiment)
    scopes = {question.id: question.scope for question in experiment.dataset.questions}
    mine = {question: held for question, held in scores.items() if question in selected}
    return Compared(result.metrics, mine, scopes)
