"""Combinators: steps that are made of lists of steps.

A combinator is a frozen dataclass. Its fields are the keys of its mapping in a method's file.
Plug-ins may register their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar, get_type_hints

from graphrag_bench.contract import Setting
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps

Item = dict[str, Any]
"""One step of a method's file."""
Arms = Mapping[str, Steps]
"""Named lists of steps."""


@dataclass(frozen=True)
class Nested(Step):
    """A step made of lists of steps.

    The first field after `label` holds the value of the combinator's own key. Fields that are not
    compared, such as the label, do not affect results and are not part of the run key.
    """

    label: str = field(compare=False)

    @property
    def parts(self) -> Sequence[Steps]:
        """Return the lists of steps inside, in order."""
        values = [getattr(self, one.name) for one in fields(self)]
        lists = [list(v.values()) if isinstance(v, Mapping) else [v] for v in values]
        return [one for some in lists for one in some if _is_steps(one)]

    def mapped(self, change: Callable[[OperatorStep], OperatorStep]) -> Step:
        """Return a copy with `change` applied to every operator step."""
        return replace(
            self, **self._change_lists(lambda steps: tuple(one.mapped(change) for one in steps))
        )

    def describe(self) -> dict[str, Any]:
        """Return the fields, with nested steps as descriptions, and a fingerprint of the code."""
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
"""Classes of the registered combinators, by key."""


def combinator(key: str) -> Callable[[K], K]:
    """Register a combinator; raises ValueError for a key of another module."""

    def register(kind: K) -> K:
        known = registered.get(key, kind)
        if known.__module__ != kind.__module__:
            raise ValueError(f"combinator '{key}' is already registered by {known.__module__}")
        registered[key] = kind
        return kind

    return register


def combinator_key(item: Mapping[str, Any]) -> str | None:
    """Return the key of the combinator in a mapping, or None."""
    return next((key for key in sorted(registered) if key in item), None)


def inner_lists(item: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """Yield the lists of steps inside a mapping, each with its path."""
    for key, one in _keys(combinator_key(item) or "").items():
        value, inside = item.get(key), _path(path, key, item)
        if one.type == Steps:
            yield value or [], inside
        elif one.type == Arms:
            yield from ((steps, f"{inside}.{name}") for name, steps in (value or {}).items())


def read_combinator(
    item: Mapping[str, Any],
    path: str,
    read: Callable[[Any, str], Steps],
    note: Callable[[str], None],
) -> Step | None:
    """Return the combinator of a mapping, or None if it is invalid.

    `read` turns a list and its path into steps; `note` receives every problem.
    """
    form = combinator_key(item) or ""
    keys = _keys(form)
    for key in item:
        if key not in keys:
            note(f"{path} ({form}) has no key '{key}'. Keys: {', '.join(sorted(keys))}.")
    values: dict[str, Any] = {"label": f"{path} {form}"}
    for key, one in keys.items():
        value, inside = item.get(key), _path(path, key, item)
        if one.type == Steps:
            values[one.field] = read(value, inside)
        elif one.type == Arms and isinstance(value, Mapping) and value:
            named = {str(name): steps for name, steps in value.items()}
            values[one.field] = {n: read(steps, f"{inside}.{n}") for n, steps in named.items()}
        elif one.type == Arms:
            note(f"{inside}: expected named lists of steps, not {value!r}.")
        elif one.required or key in item:
            try:
                values[one.field] = Setting(key, one.type, None).check(value)
            except UserError as error:
                note(f"{path} {form}: {error}")
    complete = all(one.field in values for one in keys.values() if one.required)
    return registered[form](**values) if complete else None


@dataclass(frozen=True)
class _Key:
    field: str
    type: Any
    required: bool


def _keys(form: str) -> dict[str, _Key]:
    kind = registered[form]
    hints = get_type_hints(kind, include_extras=True)
    own = fields(kind)[1:]
    names = [form, *(one.name for one in own[1:])]
    return {
        name: _Key(one.name, hints[one.name], one.default is one.default_factory is MISSING)
        for name, one in zip(names, own, strict=True)
    }


def _path(path: str, key: str, item: Mapping[str, Any]) -> str:
    return path if key in ("steps", combinator_key(item)) else f"{path}.{key}"
