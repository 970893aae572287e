"""Settings that are given and never read: one that changes no step or artifact is an error.

A setting has an effect when a step or an artifact reads it, or when by its nature it says how much
is done and how (limit, workers, budget, paths, split, ...). profile and fidelity belong to the
latter: they say for a whole comparison what each method takes where its sources differ. So does the
choice of a model (embedder=NAME), but not a setting of it (embedder.model=NAME).
"""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.experiment import Experiment

_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")
_READ_AS = {
    "graph.import_from": "import_from",
    "graph.checkpoint": "checkpoint",
    "graph.checkpoint_revision": "checkpoint",
    "dataset.openie": "openie",
}
"""Settings that one resource alone reads."""


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
