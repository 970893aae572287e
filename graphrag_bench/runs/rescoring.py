"""Stored runs re-scored from their rows: no model is called, and what they cost stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.splits import DEV_SHARE, within_split
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.runs.question_scores import check_scoring, scored_by
from graphrag_bench.runs.scoring import score
from graphrag_bench.runs.stored import StoredRun


def rescored(run: StoredRun, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What `metrics.json` of a stored run holds now, after writing it: see `scored_again`."""
    metrics = scored_again(run, changes)
    run.folder.write_metrics(metrics)
    return metrics


def scored_again(
    run: StoredRun, changes: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """What `metrics.json` of a stored run would hold; nothing is written.

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
    asked = evaluation({**run.evaluation.model_dump(), **changes})
    check_scoring(dataset, asked)
    rows = [run.rows[name] for name in scored_questions(run) if name in run.rows]
    if missing := [row["question"] for row in rows if row["question"] not in dataset.gold]:
        raise UserError(
            f"The data set of {run.folder.path} has no question '{missing[0]}' any more."
        )
    found = score(
        rows,
        dataset.gold,
        run.folder.timing(),
        asked.cuts,
        asked.containment,
        scored=scored_by(dataset, asked, run.folder, run.rows),
    )
    return {**run.metrics, **found, "evaluation": asked.model_dump()}


def scored_questions(run: StoredRun) -> Sequence[str]:
    """The ids of the questions behind a run's metrics: the first ones, stratified by type."""
    told = run.metrics
    share = told.get("dev_share", DEV_SHARE)
    questions = run.dataset.interleaved() if run.dataset else ()
    part = within_split(questions, told.get("split", "all"), share)
    return [question.id for question in part[: told["limit"]]]


def scores_of(
    run: StoredRun, asked: EvaluationSettings | None = None
) -> dict[str, dict[str, float]]:
    """The metrics of each question that a run's stored scoring is of and that did not fail.

    With `asked` under these settings of scoring; nothing is written.
    """
    found = run.scores if asked is None else run.scores_by(asked)
    return {name: found[name] for name in scored_questions(run) if name in found}


def evaluation(values: Mapping[str, Any]) -> EvaluationSettings:
    """The checked settings of scoring; raises UserError with the nearest names."""
    try:
        return EvaluationSettings.model_validate(dict(values))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            hint = did_you_mean(name, EvaluationSettings.model_fields)
            raise UserError(f"There is no setting 'evaluation.{name}'. {hint}") from None
        raise UserError(f"evaluation.{name}={fault['input']!r}: {fault['msg']}.") from None
