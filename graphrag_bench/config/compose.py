"""The config groups as files, and their composition without Hydra, for Python and tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphrag_bench.config.choices import (
    FILE,
    GROUPS,
    ROLES,
    built_in,
    content,
    names,
    path_of,
    read,
)
from graphrag_bench.config.profiles import DEFAULT, KEYS, SELECTORS, applied
from graphrag_bench.errors import UserError
from graphrag_bench.locations import project_folder

__all__ = ["GROUPS", "ROLES", "compose", "load", "names", "raw_method", "readable", "resolve"]

_CODE = ("_target_", "_args_", "_partial_")
_ELSEWHERE = re.compile(r"^\s*#\s*@package\b.*$|\$\{\s*[\w.]+\s*:[^}]*\}", re.MULTILINE)


def load(group: str, name: str) -> dict[str, Any]:
    """The content of a choice, a name or the path of a file.

    What a file changes of another of its group, which is in its `defaults`, is laid over that.
    Raises UserError for an unknown name, with the nearest, for a file that cannot be read, and,
    naming both files, for a user's method with the name of a built-in one.
    """
    return _loaded(group, name, ())


def _loaded(group: str, name: str, above: tuple[str, ...]) -> dict[str, Any]:
    if name in above:
        raise UserError(f"The {group} '{name}' is based on itself: {' <- '.join((*above, name))}.")
    held = content(group, name)
    if group == "method":
        check_plain(path_of(group, name), held)
    for base in held.pop("defaults", None) or []:
        if isinstance(base, str) and base != "_self_":
            held = _laid_over(_loaded(group, base, (*above, name)), held)
    if group == "method" and FILE in held and held.get("name") in built_in(group):
        other = path_of(group, held["name"])
        raise UserError(
            f"{held[FILE]} has the name '{held['name']}', as {other} does; give yours its own."
        )
    return held


def readable(group: str) -> list[str]:
    """The names of a group whose files can be used: what a message may offer."""
    broken = unreadable(group)
    return [name for name in names(group) if name not in broken]


def unreadable(group: str) -> dict[str, str]:
    """The names of a group whose files cannot be used, each with the reason."""
    found = {}
    for name in names(group):
        try:
            load(group, name)
        except UserError as error:
            found[name] = str(error)
    return found


def raw_method(method: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file that a resolved method was made of, with its interpolations; None without one."""
    name = str(method.get(FILE) or method.get("name"))
    return load("method", name) if FILE in method or name in built_in("method") else None


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

    defaults = [item for item in read(project_folder("configs") / "run.yaml")["defaults"]]
    chosen: dict[str, Any] = {
        group: name
        for item in defaults
        if isinstance(item, dict)
        for group, name in item.items()
        if group in GROUPS and name is not None
    }
    chosen.update(choices)
    held = {
        group: load(group, choice) if isinstance(choice, str) else dict(choice)
        for group, choice in chosen.items()
    }
    sources = [str(rest.get(name, DEFAULT)) for name in SELECTORS]
    pooling = {**(held.get("pooling") or {}), **(rest.get("pooling") or {})}
    held["method"] = applied(held["method"], *sources, pooling=pooling)
    merged = OmegaConf.merge(OmegaConf.create(held), OmegaConf.create(dict(rest)))
    return resolve(merged, OmegaConf, OmegaConfBaseException)


def resolve(config: Any, conf: Any, error_type: type[Exception]) -> dict[str, Any]:
    """The config as plain dicts with every interpolation resolved.

    One in the method that asks for what there is not is left as it is, for the check of the method
    to tell with its other problems. Raises UserError for any other.
    """
    plain: dict[str, Any]
    try:
        plain = conf.to_container(config, resolve=True)
    except error_type as first:
        raw = conf.to_container(config, resolve=False)
        raw["method"] = _kept(raw.get("method"), raw)
        try:
            plain = conf.to_container(conf.create(raw), resolve=True)
        except error_type:
            raise UserError(f"The configuration cannot be resolved: {first}") from None
    plain.pop("hydra", None)
    for key in KEYS:
        plain.get("method", {}).pop(key, None)
    return plain


def _kept(value: Any, whole: Mapping[str, Any]) -> Any:
    """A value in which what `${...}` asks for and `whole` lacks is plain text."""
    if isinstance(value, dict):
        return {name: _kept(held, whole) for name, held in value.items()}
    if isinstance(value, list):
        return [_kept(held, whole) for held in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{([\w.]+)\}", lambda m: m[0] if _holds(whole, m[1]) else f"\\{m[0]}", value)


def _holds(values: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(values, Mapping) or part not in values:
            return False
        values = values[part]
    return True
