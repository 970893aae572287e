"""Models by `_target_`: what a config group names is imported and made when first needed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from graphrag_bench.errors import UserError, nearest


def make(group: str, config: Mapping[str, Any]) -> Any:
    """The object that `_target_` names, made with the other settings of the group.

    Raises UserError for a target that cannot be imported, and for a setting it does not take.
    """
    target = str(config.get("_target_", ""))
    module_name, _, name = target.rpartition(".")
    try:
        maker = getattr(import_module(module_name), name)
    except (ImportError, AttributeError, ValueError):
        raise UserError(f"{group}._target_: there is no '{target}' to import.") from None
    given = {key: value for key, value in config.items() if key != "_target_"}
    takes = list(inspect.signature(maker).parameters)
    for key in given:
        if key not in takes:
            close = ", ".join(nearest(key, takes) or takes)
            raise UserError(f"There is no setting '{group}.{key}'. Nearest: {close}.")
    try:
        return maker(**given)
    except (TypeError, ValueError) as error:
        raise UserError(f"{group}: {error}") from None
