"""The checks of a run before its pipeline is made: every problem, in one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.contract import resources
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import Gathered
from graphrag_bench.experiment.method import GIVEN, check_keys, check_parameters, unresolved
from graphrag_bench.experiment.models import Models
from graphrag_bench.pipeline.build import Pipeline, StepOptions, build, refuse
from graphrag_bench.runs.scoring import check_scoring


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
    plugins = values.get("plugins")
    own = [str(name) for name in plugins] if isinstance(plugins, list) else []
    gathered.attempt(lambda: load_plugins(own))
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
        if (raw := raw_method(method)) is not None:
            gathered.attempt(lambda: check_parameters(raw, method))
        if gathered.errors:
            gathered.attempt(lambda: _check_method(method))
    gathered.refuse()
    assert settings is not None
    assert found is not None
    return settings, found


def check_steps(
    name: object,
    pipeline: Pipeline,
    problems: Sequence[str],
    attributes: frozenset[str] | None = None,
    slots: frozenset[str] = frozenset(),
) -> None:
    """Raise one UserError with every problem of a method's steps, `problems` first.

    `attributes` are those of the graph, where they are known, `slots` those filled before.
    """
    found = pipeline.check(resources() | set(Models.NAMES), attributes, slots)
    refuse(list(dict.fromkeys([*problems, *found])), f"the pipeline of method '{name}'")


def _check_method(values: Mapping[str, Any]) -> None:
    """Raise UserError for the steps of a method whose other keys may be wrong."""
    prompts, given = values.get("prompts"), values.get("given")
    options = StepOptions(prompts if isinstance(prompts, str) else None)
    pipeline, problems = build(values, options)
    slots = frozenset(GIVEN.values()) if given is not None else frozenset()
    check_steps(values.get("name"), pipeline, [*unresolved(values), *problems], slots=slots)


def _read(settings: RunSettings) -> Dataset:
    asked, home = settings.dataset, settings.paths.home
    own = asked.own
    return read_dataset(
        asked.name, asked.root, asked.openie, own, home=home, questions=asked.questions
    )
