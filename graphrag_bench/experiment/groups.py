"""The config groups as files, and their composition without Hydra, for Python and tests."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.experiment.profiles import DEFAULT, KEYS, SELECTORS, applied
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

ROLES = ("llm_build", "llm_judge")
"""Groups whose choices are those of `llm`: other models in the same run."""
GROUPS = ("dataset", "method", "llm", *ROLES, "embedder", "chunking", "pooling", "experiment")

_CODE = ("_target_", "_args_", "_partial_")
_ELSEWHERE = re.compile(r"^\s*#\s*@package\b.*$|\$\{\s*[\w.]+\s*:[^}]*\}", re.MULTILINE)


def names(group: str) -> list[str]:
    """The choices of a group, sorted; the roles of models have those of `llm`."""
    folder = project_folder("configs") / ("llm" if group in ROLES else group)
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load(group: str, name: str) -> dict[str, Any]:
    """The content of a choice; raises UserError with the nearest names for an unknown one.

    What a file changes of another of its group, which stands in its `defaults`, is laid over that.
    """
    return _loaded(group, name, ())


def _loaded(group: str, name: str, above: tuple[str, ...]) -> dict[str, Any]:
    if name not in names(group):
        raise unknown(group, name, names(group))
    if name in above:
        raise UserError(f"The {group} '{name}' is based on itself: {' <- '.join((*above, name))}.")
    path = project_folder("configs") / ("llm" if group in ROLES else group) / f"{name}.yaml"
    content = _yaml(path)
    if group == "method":
        check_plain(path, content)
    for base in content.pop("defaults", None) or []:
        if isinstance(base, str) and base != "_self_":
            content = _laid_over(_loaded(group, base, (*above, name)), content)
    return content


def check_plain(path: Path, content: Mapping[str, Any]) -> None:
    """Refuse a method's file that would set or import anything but the method.

    It names operators and their settings. Code to import (`_target_`), a `@package` that puts its
    content elsewhere, a choice of another group in its defaults, and interpolations that call
    (`${oc.env:KEY}`) are refused: models are chosen by llm=, embedder= and nlp=.
    """
    if (key := _target(content)) is not None:
        raise UserError(
            f"{path}: '{key}' names code to import, and a method's file holds none: its steps name "
            "operators (op:), and models are chosen by llm=, embedder= and nlp=."
        )
    text = path.read_text(encoding="utf-8")
    if found := _ELSEWHERE.search(text):
        raise UserError(f"{path}: '{found[0].strip()}' is not for a method's file; leave it out.")
    bases = content.get("defaults") or []
    if not isinstance(bases, list) or not all(isinstance(base, str) for base in bases):
        raise UserError(f"{path}: defaults lists names of methods and _self_, nothing else.")


def _target(value: object) -> str | None:
    """The first key `_target_` at any depth; None where there is none."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _CODE:
                return str(key)
            if (found := _target(inner)) is not None:
                return found
    elif isinstance(value, list):
        return next((found for inner in value if (found := _target(inner)) is not None), None)
    return None


def _laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Both as one mapping, `own` having the last word; mappings inside are merged, lists not."""
    inner = {
        name: _laid_over(base[name], value)
        for name, value in own.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **own, **inner}


def _yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None
    content = copy.deepcopy(_read(text, str(path)))
    if not isinstance(content, dict):
        raise UserError(f"{path}: a mapping was expected.")
    return content


@lru_cache(maxsize=256)
def _read(text: str, where: str) -> Any:
    return read_yaml(text, where)


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
