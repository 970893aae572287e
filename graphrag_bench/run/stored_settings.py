"""Find the settings in which stored runs differ."""

import re
from collections.abc import Sequence
from typing import Any

from graphrag_bench.config.sources import FILE
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.folder import paths_of
from graphrag_bench.run.stored import StoredRun

_MODELS = ("llm", "llm_build", "embedder")
_STEP = re.compile(r"method\.(convert|retrieve|generate)\..*")
_ASIDE = re.compile(
    r"(cache|workers|nlp_workers|parallel|budget|failures|trace|reference_rows|plugins"
    r"|objective|experiment|imported|given)(\..*)?"
    rf"|dataset\.(name|root)|method\.(name|title|page|role|verified|{FILE}|convert|retrieve|generate)"
    r"|(llm\w*|embedder|nlp|cross_encoder)"
    r"\.(_target_|base_url|api_key_env|limits|timeout|retries|parallel|threads|n_gpu_layers)(\..*)?"
    r"|(?!method\.(convert|retrieve|generate)\.).*\.\d+(\..*)?"
)
"""Settings that are not compared: settings without effect on results, settings that every table
shows, and items of lists (except steps)."""


def settings_of(run: StoredRun) -> dict[str, Any]:
    """Return the settings and model names that can change a run's results, by path."""
    scoring = paths_of(run.metrics.get("evaluation") or {}, "evaluation")
    models = {name: run.metrics.get(name) or None for name in _MODELS}
    values = {**paths_of(run.config), **run.metrics["settings"], **scoring, **models}
    return {
        path: f"[{','.join(map(str, value))}]" if isinstance(value, list) else value
        for path, value in values.items()
        if value is not None and not _ASIDE.fullmatch(path)
    }


def differing_settings(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return the settings that differ between runs, with the value in each run (None if unset).

    Parameters of methods and names of models are compared between the runs that have them. A step's
    setting is included if it differs between runs of one method. It is left out if a parameter, or
    another setting outside of the steps, has the same values.
    """
    every = [settings_of(run) for run in runs]

    def differs(path: str) -> bool:
        # a missing value counts only if the run has the group (an imported run has few groups)
        group = path.partition(".")[0]
        own = group == "method" or path in _MODELS
        pairs = zip(every, (run.config for run in runs), strict=True)
        return len({s.get(path) for s, c in pairs if path in s or (group in c and not own)}) > 1

    paths = dict.fromkeys(path for settings in every for path in settings)
    others = [path for path in paths if not _STEP.fullmatch(path)]
    shown = dict.fromkeys(filter(differs, others))
    names = [(run.metrics["dataset"], run.metrics["method"]) for run in runs]
    for rows in group_by(range(len(runs)), names.__getitem__).values():
        values = {path: tuple(every[row].get(path) for row in rows) for path in paths}
        explained = {values[path] for path in others}
        for path in filter(_STEP.fullmatch, paths):
            if len(set(values[path])) > 1 and values[path] not in explained:
                shown[path] = None
    return [{path: settings.get(path) for path in shown} for settings in every]
