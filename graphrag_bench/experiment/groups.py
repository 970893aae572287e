"""The config groups as files, and their composition without Hydra, for Python and tests."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.experiment.profiles import DEFAULT, KEYS, SELECTORS, applied
from graphrag_bench.locations import project_folder

ROLES = ("llm_build", "llm_judge")
"""Groups whose choices are those of `llm`: other models in the same run."""
GROUPS = ("dataset", "method", "llm", *ROLES, "embedder", "chunking", "pooling", "experiment")


def names(group: str) -> list[str]:
    """The choices of a group, sorted; the roles of models have those of `llm`."""
    folder = project_folder("configs") / ("llm" if group in ROLES else group)
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load(group: str, name: str) -> dict[str, Any]:
    """The content of a choice; raises UserError with the nearest names for an unknown one.

    What a file changes of another of its group, which stands in its `defaults`, is laid over that.
    """
    if name not in names(group):
        raise unknown(group, name, names(group))
    folder = project_folder("configs") / ("llm" if group in ROLES else group)
    content = _yaml(folder / f"{name}.yaml")
    for base in content.pop("defaults", []):
        if isinstance(base, str) and base != "_self_":
            content = _laid_over(load(group, base), content)
    return content


def _laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Both as one mapping, `own` having the last word; mappings inside are merged, lists not."""
    inner = {
        name: _laid_over(base[name], value)
        for name, value in own.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **own, **inner}


def _yaml(path: Path) -> dict[str, Any]:
    content = copy.deepcopy(_read(path.read_text(encoding="utf-8")))
    if not isinstance(content, dict):
        raise UserError(f"{path}: a mapping was expected.")
    return content


@lru_cache(maxsize=256)
def _read(text: str) -> Any:
    return yaml.safe_load(text)


def compose(
    choices: Mapping[str, str | Mapping[str, Any]], rest: Mapping[str, Any]
) -> dict[str, Any]:
    """The resolved settings of chosen groups with other settings laid over them.

    A choice is a name, or the content itself; `rest` is nested as the settings are. What is not
    chosen takes the default of `run.yaml`; profile, fidelity and path pooling change the method's
    file before `rest` does. Interpolations are resolved over the whole.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    defaults = [item for item in _yaml(project_folder("configs") / "run.yaml")["defaults"]]
    chosen: dict[str, Any] = {
        group: name
        for item in defaults
        if isinstance(item, dict)
        for group, name in item.items()
        if group in GROUPS and name is not None
    }
    chosen.update(choices)
    content = {
        group: load(group, choice) if isinstance(choice, str) else dict(choice)
        for group, choice in chosen.items()
    }
    sources = [str(rest.get(name, DEFAULT)) for name in SELECTORS]
    pooling = {**(content.get("pooling") or {}), **(rest.get("pooling") or {})}
    content["method"] = applied(content["method"], *sources, pooling=pooling)
    merged = OmegaConf.merge(OmegaConf.create(content), OmegaConf.create(dict(rest)))
    return resolve(merged, OmegaConf, OmegaConfBaseException)


def resolve(config: Any, conf: Any, error_type: type[Exception]) -> dict[str, Any]:
    """The config as plain dicts with every interpolation resolved; raises UserError."""
    try:
        plain: dict[str, Any] = conf.to_container(config, resolve=True)
    except error_type as error:
        raise UserError(f"The configuration cannot be resolved: {error}") from None
    plain.pop("hydra", None)
    for key in KEYS:
        plain.get("method", {}).pop(key, None)
    return plain
