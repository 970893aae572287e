"""Combinators: steps that contain lists of other steps, e.g. to branch or to repeat.

A combinator is a frozen dataclass. In a method file it is written as a mapping whose keys are the
names of the fields. Plug-ins can register their own combinators.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from graphrag_bench.contract import REQUIRED, Setting
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps
from graphrag_bench.registry import signature_of

Item = dict[str, Any]
"""A step as it is written in a method file."""
Arms = Mapping[str, Steps]
"""Lists of steps, each with a name."""


@dataclass(frozen=True)
class Nested(Step):
    """Base class of combinators, i.e. of steps that contain lists of steps.

    In a method file, the name of the combinator stands for the first field after `label`. For
    example, `each: chunks` sets the field `slot` to `chunks`. Fields with `compare=False`, such as
    the label, do not affect results and are not part of the run key.
    """

    label: str = field(compare=False)

    @property
    def parts(self) -> Sequence[Steps]:
        """The lists of steps that the combinator contains, in order."""
        values = [getattr(self, one.name) for one in fields(self)]
        lists = [list(v.values()) if isinstance(v, Mapping) else [v] for v in values]
        return [one for some in lists for one in some if _is_steps(one)]

    def mapped(self, change: Callable[[OperatorStep], OperatorStep]) -> Step:
        """Return a copy of the combinator with `change` applied to every operator step."""
        lists = self._change_lists(lambda steps: tuple(one.mapped(change) for one in steps))
        return replace(self, **lists)

    def describe(self) -> dict[str, Any]:
        """Return this step's part of the run key: fields, inner steps and code fingerprint."""
        every = self._change_lists(lambda steps: [one.describe() for one in steps])
        own = {one.name: every[one.name] for one in fields(self) if one.compare}
        return {"step": type(self).__name__, **own, "code": code(type(self))}

    def _change_lists(self, change: Callable[[Steps], Any]) -> dict[str, Any]:
        def changed(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: changed(one) for name, one in value.items()}
            return change(value) if _is_steps(value) else value

        return {one.name: changed(getattr(self, one.name)) for one in fields(self)}


def _is_steps(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, Step) for one in value)


K = TypeVar("K", bound=type[Nested])
registered: dict[str, type[Nested]] = {}
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
            named = {str(name): steps for name, steps in value.items()}
            values[field_name] = {n: read(steps, f"{inside}.{n}") for n, steps in named.items()}
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
