"""`repeats=N`: the answering model asked N times, and the spread of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.llm.ledger import Sums, read_ledger, sums
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.stored import StoredRun

_OF_EVIDENCE = ("evidence", "all_evidence")
Scores = Mapping[str, Mapping[str, float]]


def trials(experiment: Experiment) -> list[Experiment]:
    """The experiment once for each repeat after the first, which is the run itself.

    Repeat t is stored in the folder `trial-t` of the run. Raises UserError when nothing is
    answered, as nothing would be asked again.
    """
    n_repeats = experiment.settings.repeats
    if n_repeats > 1 and not experiment.settings.answering:
        raise UserError(f"repeats={n_repeats} asks the answering model again: not with answer=off.")
    return [experiment.on_trial(trial) for trial in range(1, n_repeats)]


def stored(experiment: Experiment) -> list[StoredRun]:
    """The run and its repeats as they are stored."""
    every = [experiment, *trials(experiment)]
    return [StoredRun(RunFolder(one.folder.path), experiment.dataset) for one in every]


def repeated(experiment: Experiment, answered: Sequence[str]) -> dict[str, Any]:
    """What `metrics.json` holds of the repeats, over the `answered` questions none of them failed.

    `n` repeats, `questions`, and of these `changed`, whose answer was not the same in all; for each
    metric the `mean` over repeats and questions, its interval over questions, the `spread`
    (standard deviation of the repeats' means) and the `values` of the repeats. Metrics of the
    evidence only where it differs. `cost` is that of the repeats after the first.
    """
    runs = stored(experiment)
    shared = [q for q in answered if all(q in run.scores for run in runs)]
    rows = [[run.rows[q] for run in runs] for q in shared]
    changed = sum(len({row.get("answer") for row in of_one}) > 1 for of_one in rows)
    scopes = [of_one[0].get("scope") for of_one in rows]
    names = dict.fromkeys(name for q in shared for name in runs[0].scores[q])
    metrics = {}
    for name in names:
        held = [
            [run.scores[q][name] for run in runs] if name in runs[0].scores[q] else []
            for q in shared
        ]
        differs = any(len(set(values)) > 1 for values in held)
        if differs or not name.startswith(_OF_EVIDENCE):
            metrics[name] = _over_repeats(held, scopes)
    cost = sums(read_ledger(*(path for run in runs[1:] for path in run.folder.files("ledger"))))
    whole = cost.get((), Sums())
    return {
        "n": len(runs),
        "questions": len(shared),
        "changed": changed,
        "metrics": metrics,
        "cost": {name: vars(getattr(whole, name)) for name in ("paid", "cached")},
    }


def _over_repeats(
    values: Sequence[Sequence[float]], scopes: Sequence[str | None]
) -> dict[str, Any]:
    scored = [row for row, held in enumerate(values) if held]
    means = [round(fmean(of), 6) for of in zip(*(values[row] for row in scored), strict=True)]
    of_questions = [fmean(values[row]) for row in scored]
    found = mean_with_interval(of_questions, scopes=[scopes[row] for row in scored])
    return {**found.stored(), "spread": round(stdev(means), 6), "values": means}


def scores_over_repeats(experiment: Experiment) -> dict[str, dict[str, float]]:
    """The metrics of each question, each the mean over the repeats in which it did not fail."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in stored(experiment):
        for question, held in run.scores.items():
            for name, value in held.items():
                found.setdefault(question, {}).setdefault(name, []).append(value)
    return {
        question: {name: fmean(values) for name, values in held.items()}
        for question, held in found.items()
    }
