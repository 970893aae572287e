"""Settings that are given and never read: one that changes no step or artifact is an error.

A setting has an effect when a step or an artifact reads it, or when by its nature it says how much
is done and how (limit, workers, budget, paths, split, ...). profile and fidelity belong to the
latter: they say for a whole comparison what each method takes where its sources differ. So does the
choice of a model (embedder=NAME), but not a setting of it (embedder.model=NAME).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.config.compose import raw_method
from graphrag_bench.config.profiles import KEYS
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.method import RESERVED
from graphrag_bench.experiment.pooling import OWN, pooled
from graphrag_bench.offline.plan import THINNING, Planned

_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")


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
    first, *rest = name.removeprefix("method.build.").split(".")
    settings, used = experiment.settings, experiment.used
    method = f"method '{experiment.method.name}'"
    if name.startswith(("build.", "method.build.")):
        return _unbuilt(experiment, [first, *rest] if name.startswith("method.") else rest)
    if first == "method" and rest and rest[0] in KEYS:
        return f"read from the file of {method} alone; set its parameters themselves."
    if first == "method" and rest and rest[0] not in RESERVED:
        return _unasked(experiment, rest[0])
    if first in _MODELS and rest != ["_target_"] and (rest or first == "llm_build"):
        reads = {first, "llm_build"} if first == "llm" and settings.llm_build is None else {first}
        reads |= {"tokenizer"} if rest == ["tokenizer"] else set()
        there = [model for model in _MODELS if model in used]
        return "" if reads & used else f"{method} uses no {first} here; it uses {', '.join(there)}."
    if first == "pooling" and rest:
        return _unpooled(experiment, rest[0])
    extraction = any(item.resource == "extraction" for item in experiment.plan)
    idle = {
        "graph.import_from": ("import_from" not in used, "no graph is built that is imported"),
        "graph.checkpoint": ("checkpoint" not in used, "needs build.gnn_weights=released"),
        "graph.checkpoint_revision": ("checkpoint" not in used, "needs build.gnn_weights=released"),
        "dataset.openie": (
            extraction and "openie" not in used,
            "needs build.extraction=openie_file",
        ),
        "dev_share": (settings.split == "all", "needs split=dev or split=test"),
        "cache.path": (settings.cache.mode == "off", "cache.mode=off uses no cache"),
        "cache.journal": (settings.cache.mode == "off", "cache.mode=off uses no cache"),
    }
    is_idle, reason = idle.get(name, (False, ""))
    return f"{method}: {reason}." if is_idle else ""


def _unbuilt(experiment: Experiment, path: Sequence[str]) -> str:
    planned = {item.resource: item for item in experiment.plan}
    resource, *rest = path
    if resource not in planned:
        hint = did_you_mean(resource, sorted(planned))
        return f"method '{experiment.method.name}' builds no '{resource}'. {hint}"
    if not rest or _reads(planned[resource], rest[0]):
        return ""
    thinning = THINNING.get(rest[0])
    value = experiment.choices[resource].get(rest[0])
    if thinning is not None and value == thinning.default:
        return ""
    return f"no edge is taken out; add build.{resource}.edge_drop=0.1."


def _unasked(experiment: Experiment, name: str) -> str:
    """Return why a method's parameter is unused: it is for artifacts that are built otherwise."""
    raw = raw_method(experiment.settings.method)
    if raw is None:
        return ""
    sign = f"{{method.{name}}}"
    others = {key: value for key, value in raw.items() if key in RESERVED - {"build"}}
    places = list(_places(raw.get("build") or {}, sign))
    if sign in repr(others) or not places:
        return ""
    planned = {item.resource: item for item in experiment.plan}
    if any(one in planned and _reads(planned[one], setting) for one, setting in places):
        return ""
    return f"it is for {' and '.join(sorted({place[0] for place in places}))}, built otherwise."


def _unpooled(experiment: Experiment, name: str) -> str:
    pooling, method = experiment.settings.pooling, experiment.settings.method
    if pooling is None:
        return "pooling is off here; choose pooling=rerank or pooling=reselect."
    if name not in OWN or name == "mode":
        return ""
    others = {**pooling, name: f"{pooling[name]}, changed"}
    if pooled(method, pooling) != pooled(method, others):
        return ""
    return (
        f"path pooling takes the entities that '{method.get('name')}' has, and finds none itself."
    )


def _reads(item: Planned, setting: str) -> bool:
    return setting == "variant" or setting in item.said


def _places(build: Mapping[str, Any], sign: str) -> Iterator[tuple[str, str]]:
    for resource, choice in build.items():
        if isinstance(choice, Mapping):
            yield from ((resource, key) for key, value in choice.items() if sign in repr(value))
        elif sign in repr(choice):
            yield resource, "variant"
