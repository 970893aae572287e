"""Models by `_target_`: what a config group names is imported and made when first needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean


def make(group: str, config: Mapping[str, Any]) -> Any:
    """The object that `_target_` names, made with the other settings of the group.

    Raises UserError for a target that cannot be imported, for a setting it does not take or
    misses, and for one whose value is not of the type that its signature states.
    """
    target = str(config.get("_target_", ""))
    module_name, _, name = target.rpartition(".")
    try:
        maker = getattr(import_module(module_name), name)
    except (ImportError, AttributeError, ValueError):
        raise UserError(f"{group}._target_: there is no '{target}' to import.") from None
    given = {key: value for key, value in config.items() if key != "_target_"}
    takes = _parameters(maker)
    for key, value in given.items():
        if key not in takes:
            hint = did_you_mean(key, takes)
            raise UserError(f"There is no setting '{group}.{key}'. {hint}")
        _check_type(f"{group}.{key}", value, takes[key].annotation)
    missing = [key for key, taken in takes.items() if _required(taken) and key not in given]
    if missing:
        raise UserError(f"{group} needs the setting '{group}.{missing[0]}' ({target}).")
    try:
        return maker(**given)
    except (TypeError, ValueError) as error:
        raise UserError(f"{group}: {error}") from None


def _required(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not variadic


def _parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(maker, eval_str=True).parameters
    except NameError:
        bare = inspect.signature(maker).parameters.values()
        return {one.name: one.replace(annotation=Any) for one in bare}


def _check_type(name: str, value: Any, hint: Any) -> None:
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

    if hint is inspect.Parameter.empty:
        return
    try:
        adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError:
        return
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        reasons = dict.fromkeys(str(fault["msg"]) for fault in error.errors())
        raise UserError(f"{name}={value!r}: {' or '.join(reasons)}.") from None
