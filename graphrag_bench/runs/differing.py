"""The settings of stored runs by path, and those in which the runs differ: columns of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.config.sources import FILE
from graphrag_bench.runs.stored import StoredRun, paths_of

_MODELS = ("llm", "llm_build", "embedder")
_STEP = re.compile(r"method\.(convert|retrieve|generate)\..*")
_ASIDE = re.compile(
    r"(cache|workers|nlp_workers|executor|ray|budget|failures|trace|reference_rows|plugins"
    r"|objective|experiment|imported)(\..*)?"
    rf"|dataset\.(name|root)|method\.(name|title|role|verified|{FILE}|convert|retrieve|generate)"
    r"|(llm\w*|embedder|nlp|cross_encoder)"
    r"\.(_target_|base_url|api_key_env|limits|patience|parallel|threads)(\..*)?"
    r"|(?!method\.(convert|retrieve|generate)\.).*\.\d+(\..*)?"
)
"""What changes no result, names that a table has anyway, steps as lists, and parts of lists."""


def settings_of(run: StoredRun) -> dict[str, Any]:
    """The settings that can change a run's results, by path; `llm` and `embedder` are identities.

    What is not set is left out; a list is a text as in a command, so that it can be grouped by.
    """
    scoring = paths_of(run.metrics.get("evaluation") or {}, "evaluation")
    models = {name: run.metrics.get(name) or None for name in _MODELS}
    found = {**paths_of(run.config), **run.metrics["settings"], **scoring, **models}
    return {
        path: f"[{','.join(map(str, value))}]" if isinstance(value, list) else value
        for path, value in found.items()
        if value is not None and not _ASIDE.fullmatch(path)
    }


def differing_settings(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """For each run its value, or None, of every setting that is not the same in all of them.

    Parameters of methods and identities of models are compared among the runs that have them. A
    setting of a single step is there only where no other setting tells two runs apart that differ
    in it: the number of the step that takes `method.top_k` would say the same twice.
    """
    every = [settings_of(run) for run in runs]
    paths = dict.fromkeys(path for held in every for path in held)
    groups = [set(run.config) for run in runs]
    shown = [
        path
        for path in paths
        if not _STEP.fullmatch(path) and len(_values(path, every, groups)) > 1
    ]
    alike: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for run, held in zip(runs, every, strict=True):
        names = (run.metrics["dataset"], run.metrics["method"])
        alike.setdefault((*names, *map(held.get, shown)), []).append(held)
    shown += [
        path
        for path in filter(_STEP.fullmatch, paths)
        if any(len({held.get(path) for held in same}) > 1 for same in alike.values())
    ]
    return [{path: held.get(path) for path in shown} for held in every]


def _values(
    path: str, every: Sequence[Mapping[str, Any]], groups: Sequence[set[str]]
) -> set[object]:
    """Its values; where a run has the group of the setting without it, nothing is one of them.

    An imported run has no group but `dataset`, and another method is no method without a parameter.
    """
    group = path.partition(".")[0]
    own = group == "method" or path in _MODELS
    return {
        held.get(path)
        for held, known in zip(every, groups, strict=True)
        if path in held or (group in known and not own)
    }
