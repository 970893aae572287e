"""Combinators: steps that contain lists of other steps, e.g. to branch or to repeat.

A combinator is a frozen dataclass and a subclass of `Step`. In a method file it is written as a
mapping whose keys are the names of the fields. Plug-ins can register their own combinators.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from graphrag_bench.contract import REQUIRED, Setting
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.steps import Step, Steps
from graphrag_bench.registry import signature_of

Item = dict[str, Any]
"""A step as it is written in a method file."""
Arms = Mapping[str, Steps]
"""Lists of steps, each with a name."""


K = TypeVar("K", bound=type[Step])
registered: dict[str, type[Step]] = {}
"""Classes of the registered combinators by their keys, e.g. `branch`."""


def combinator(key: str) -> Callable[[K], K]:
    """Register a class as combinator `key`. Raises ValueError if another module has this key."""

    def register(kind: K) -> K:
        known = registered.get(key, kind)
        if known.__module__ != kind.__module__:
            raise ValueError(f"combinator '{key}' is already registered by {known.__module__}")
        registered[key] = kind
        return kind

    return register


def combinator_key(item: Mapping[str, Any]) -> str | None:
    """Return the combinator in a step of a method file, e.g. `branch`, or None for an operator."""
    return next((key for key in sorted(registered) if key in item), None)


def inner_lists(item: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """Yield each list of steps inside a combinator of a method file, with the list's path."""
    for one in _settings(combinator_key(item) or "").values():
        value, inside = item.get(one.name), _path(path, one.name, item)
        if one.annotation == Steps:
            yield value or [], inside
        elif one.annotation == Arms:
            yield from ((steps, f"{inside}.{name}") for name, steps in (value or {}).items())


def read_combinator(
    item: Mapping[str, Any],
    path: str,
    read: Callable[[Any, str], Steps],
    note: Callable[[str], None],
) -> Step | None:
    """Return the combinator that a mapping of a method file describes, or None if it is invalid.

    `read` parses a list of steps, given the list and its path. `note` is called with each problem.
    """
    form = combinator_key(item) or ""
    settings = _settings(form)
    keys = sorted(one.name for one in settings.values())
    for key in item:
        if key not in keys:
            note(f"{path} ({form}) has no key '{key}'. Keys: {', '.join(keys)}.")
    values: dict[str, Any] = {"label": f"{path} {form}"}
    for field_name, one in settings.items():
        value, inside = item.get(one.name), _path(path, one.name, item)
        if one.annotation == Steps:
            values[field_name] = read(value, inside)
        elif one.annotation == Arms and isinstance(value, Mapping) and value:
            named = value.items()
            values[field_name] = {str(n): read(steps, f"{inside}.{n}") for n, steps in named}
        elif one.annotation == Arms:
            note(f"{inside}: expected named lists of steps, not {value!r}.")
        elif one.default is REQUIRED or one.name in item:
            try:
                values[field_name] = one.check(value)
            except UserError as error:
                note(f"{path} {form}: {error}")
    required = {name for name, one in settings.items() if one.default is REQUIRED}
    return registered[form](**values) if required <= values.keys() else None


def _settings(form: str) -> dict[str, Setting]:
    """Map the fields of combinator `form` to settings. The first is named like the combinator."""
    _, *own = signature_of(registered[form]).parameters.values()
    return {
        one.name: Setting(one.name if place else form, one.annotation, one.default)
        for place, one in enumerate(own)
    }


def _path(path: str, key: str, item: Mapping[str, Any]) -> str:
    return path if key in ("steps", combinator_key(item)) else f"{path}.{key}"
