"""Stored runs re-scored from their rows: no model is called, and what they cost stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.splits import DEV_SHARE, within_split
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.runs.scoring import check_scoring, score, scored_by
from graphrag_bench.runs.stored import StoredRun


def rescored(run: StoredRun, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Write and return the new `metrics.json` of a stored run: see `scored_again`."""
    metrics = scored_again(run, changes)
    run.folder.write_metrics(metrics)
    return metrics


def scored_again(
    run: StoredRun, changes: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what `metrics.json` of a stored run would hold; nothing is written.

    The questions are those that its stored scoring is of; settings that `changes` does not name are
    those it was scored by, and all of them are kept for later readers of the run. Raises
    UserError when its data set is not at hand or has changed, and for a setting or metric that
    there is not.
    """
    dataset = run.dataset
    if dataset is None:
        name = run.config["dataset"].get("name")
        raise UserError(
            f"The data set '{name}' of {run.folder.path} is not at hand; its gold is needed."
        )
    settings = evaluation({**run.evaluation.model_dump(), **changes})
    check_scoring(dataset, settings)
    rows = [run.rows[name] for name in scored_questions(run) if name in run.rows]
    if missing := [row["question"] for row in rows if row["question"] not in dataset.gold]:
        raise UserError(
            f"The data set of {run.folder.path} has no question '{missing[0]}' any more."
        )
    scores = score(
        rows,
        dataset.gold,
        run.folder.timing(),
        settings.cuts,
        settings.containment,
        scored=scored_by(dataset, settings, run.folder, run.rows),
    )
    return {**run.metrics, **scores, "evaluation": settings.model_dump()}


def scored_questions(run: StoredRun) -> Sequence[str]:
    """Return the ids of the questions behind a run's metrics: the first, stratified by type."""
    metrics = run.metrics
    questions = run.dataset.interleaved() if run.dataset else ()
    share = metrics.get("dev_share", DEV_SHARE)
    part = within_split(questions, metrics.get("split", "all"), share)
    return [question.id for question in part[: metrics["limit"]]]


def scores_of(
    run: StoredRun, settings: EvaluationSettings | None = None
) -> dict[str, dict[str, float]]:
    """Return the metrics of each question that a run's stored scoring is of and did not fail.

    Under its own settings of scoring, or these; nothing is written.
    """
    scores = run.scores if settings is None else run.scores_by(settings)
    return {name: scores[name] for name in scored_questions(run) if name in scores}


def evaluation(values: Mapping[str, Any]) -> EvaluationSettings:
    """Return the checked settings of scoring; raise UserError with the nearest names."""
    try:
        return EvaluationSettings.model_validate(dict(values))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            hint = did_you_mean(name, EvaluationSettings.model_fields)
            raise UserError(f"There is no setting 'evaluation.{name}'. {hint}") from None
        raise UserError(f"evaluation.{name}={fault['input']!r}: {fault['msg']}.") from None
