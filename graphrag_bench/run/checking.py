"""The checks of a run before it costs anything: every problem, in one message.

A setting that is given and never read is an error. It has an effect when a step or an artifact
reads it, or when by its nature it says how much is done and how (limit, workers, budget, paths,
split, ...). profile and fidelity belong to the latter: they say for a whole comparison what each
method takes where its sources differ. So does the choice of a model (embedder=NAME), but not a
setting of it (embedder.model=NAME).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.contract import resources
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import Gathered, UserError, did_you_mean, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, Source, metric_names
from graphrag_bench.pipeline.pipeline import Pipeline, StepOptions, build, refuse
from graphrag_bench.run.method import GIVEN, check_keys, check_parameters, unresolved
from graphrag_bench.run.models import Models
from graphrag_bench.run.scoring import check_scoring
from graphrag_bench.run.stored import dataset_of

if TYPE_CHECKING:
    from graphrag_bench.run.experiment import Experiment

NONE = "none"
"""The baseline of a run that is compared with none."""
_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")
_READ_AS = {
    "graph.import_from": "import_from",
    "graph.checkpoint": "checkpoint",
    "graph.checkpoint_revision": "checkpoint",
    "dataset.openie": "openie",
}
"""Settings that one resource alone reads."""


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
    data = dataset
    if settings is not None:
        data = data or gathered.attempt(lambda: dataset_of(settings.dataset, settings.paths.home))
        if data is not None:
            form = None if settings.answers == "auto" else settings.answers
            in_form = data.in_form(form, settings.open_tokens)
            data = scored = data if in_form.questions == data.questions else in_form
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
    assert data is not None
    return settings, data


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
    own = pipeline.check(resources() | set(Models.NAMES), attributes, slots)
    refuse(list(dict.fromkeys([*problems, *own])), f"the pipeline of method '{name}'")


def _check_method(values: Mapping[str, Any]) -> None:
    prompts, given = values.get("prompts"), values.get("given")
    options = StepOptions(prompts if isinstance(prompts, str) else None)
    pipeline, problems = build(values, options)
    slots = frozenset(GIVEN.values()) if given is not None else frozenset()
    check_steps(values.get("name"), pipeline, [*unresolved(values), *problems], slots=slots)


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
        raise UserError(f"objective={wanted}: a descriptive metric, neither direction is better.")
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


def refuse_unused(overrides: Sequence[str], experiments: Sequence[Experiment]) -> None:
    """Raise one UserError that names every override that no run of a command reads.

    A setting that only some runs of a sweep read is fine.
    """
    names = [text.lstrip("+~").partition("=")[0].removeprefix("llm@") for text in overrides]
    problems = []
    for name in dict.fromkeys(names):
        reasons = [_unused(experiment, name) for experiment in experiments]
        if reasons and all(reasons):
            problems.append(f"  {name}: {reasons[0]}")
    if problems:
        lines = "\n".join(problems)
        raise UserError(f"{len(problems)} setting(s) would change nothing:\n{lines}")


def _unused(experiment: Experiment, name: str) -> str:
    """Return why a run reads no such setting; "" where it does, or where it says how a run goes."""
    first, *rest = name.replace("method.build.", "build.", 1).split(".")
    settings, used = experiment.settings, experiment.used
    planned = {item.resource for item in experiment.plan}
    method = f"method '{experiment.method.name}'"
    if first == "build" and rest and rest[0] not in planned:
        return f"{method} builds no '{rest[0]}'. {did_you_mean(rest[0], sorted(planned))}"
    if first in _MODELS and rest != ["_target_"] and (rest or first == "llm_build"):
        reads = {first, "llm_build"} if first == "llm" and settings.llm_build is None else {first}
        reads |= {"tokenizer"} if rest == ["tokenizer"] else set()
        there = [model for model in _MODELS if model in used]
        return "" if reads & used else f"{method} uses no {first} here; it uses {', '.join(there)}."
    if first == "pooling" and rest and settings.pooling is None:
        return "pooling is off here; choose pooling=rerank or pooling=reselect."
    if name == "dev_share" and settings.split == "all":
        return "it needs split=dev or split=test."
    if name == "dataset.openie" and "extraction" not in planned:
        return ""
    if name in _READ_AS and _READ_AS[name] not in used:
        return f"{method} builds nothing from it here; it builds {', '.join(sorted(planned))}."
    return ""
