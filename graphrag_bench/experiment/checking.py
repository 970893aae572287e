"""The checks of a run before its pipeline is made: every problem, in one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import Gathered
from graphrag_bench.experiment.method import (
    GIVEN,
    Method,
    check_keys,
    check_parameters,
    unresolved,
)
from graphrag_bench.experiment.models import Models
from graphrag_bench.pipeline.build import build, refuse
from graphrag_bench.runs.question_scores import check_scoring


def checked_inputs(
    values: Mapping[str, Any], dataset: Dataset | None
) -> tuple[RunSettings, Dataset]:
    """Return the checked settings of a run, and its data set, read unless it is given.

    Plug-ins are loaded. Raises UserError for wrong settings, a data set that cannot be read or
    scored so, parameters that the method's file does not have or nothing reads and, where there is
    any of these, for what is wrong with the method's steps too.
    """
    gathered = Gathered()
    settings = gathered.attempt(lambda: check_settings(values))
    gathered.attempt(lambda: load_plugins(_plugins(values)))
    found = dataset
    if settings is not None:
        found = found or gathered.attempt(lambda: _read(settings))
        if found is not None:
            form = None if settings.answers == "auto" else settings.answers
            asked = found.in_form(form, settings.open_tokens)
            found = scored = found if asked.questions == found.questions else asked
            gathered.attempt(lambda: check_scoring(scored, settings.evaluation, settings.answering))
    method = values.get("method")
    if isinstance(method, Mapping):
        gathered.attempt(lambda: check_keys(method))
        gathered.attempt(lambda: _check_parameters(method))
        if gathered.errors:
            gathered.attempt(lambda: _check_method(method))
    gathered.refuse()
    assert settings is not None
    assert found is not None
    return settings, found


def check_steps(
    method: Method, resources: frozenset[str] | None, attributes: frozenset[str] | None
) -> None:
    """Raise one UserError with every problem of a method's steps."""
    found = method.pipeline.check(resources, attributes, method.given_slots)
    _refuse_steps([*method.problems, *found], method.name)


def _refuse_steps(problems: Sequence[str], name: object) -> None:
    refuse(list(dict.fromkeys(problems)), f"the pipeline of method '{name}'")


def _check_method(values: Mapping[str, Any]) -> None:
    """Raise UserError for the steps of a method whose other keys may be wrong."""
    prompts, given = values.get("prompts"), values.get("given")
    pipeline, problems = build(values, prompts if isinstance(prompts, str) else None)
    resources = frozenset({builder.resource for builder in builders.all()} | set(Models.NAMES))
    slots = frozenset(GIVEN.values()) if given is not None else frozenset()
    found = pipeline.check(resources, None, slots)
    _refuse_steps([*unresolved(values), *problems, *found], values.get("name"))


def _check_parameters(values: Mapping[str, Any]) -> None:
    if (raw := raw_method(values)) is not None:
        check_parameters(raw, values)


def _read(settings: RunSettings) -> Dataset:
    asked = settings.dataset
    return read_dataset(
        asked.name,
        asked.root,
        asked.openie,
        asked.own,
        home=settings.paths.home,
        questions=asked.questions,
    )


def _plugins(values: Mapping[str, Any]) -> list[str]:
    named = values.get("plugins") or []
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
