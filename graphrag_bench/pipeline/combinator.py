"""What a combinator is: a step made of lists of steps, known by a key of its own.

Those of this project are in `combinators` and `resolve`; a plug-in may register others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.merge import Rule
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps

Item = dict[str, Any]
"""One step as a method's file has it."""


@dataclass(frozen=True)
class Nested(Step):
    """A step made of lists of steps: its fields hold them, alone or by name, and its settings.

    A field that is not compared, as the label, changes no result and is no part of the run key.
    """

    @property
    def parts(self) -> Sequence[Steps]:
        """The lists of steps inside, in order."""
        values = [getattr(self, one.name) for one in fields(self)]
        lists = [list(v.values()) if isinstance(v, Mapping) else [v] for v in values]
        return [one for some in lists for one in some if _is_steps(one)]

    def mapped(self, change: Callable[[OperatorStep], OperatorStep]) -> Step:
        """Return the combinator with every operator step inside changed."""
        values = {one.name: _mapped(getattr(self, one.name), change) for one in fields(self)}
        return replace(self, **values)

    def describe(self) -> dict[str, Any]:
        """Return the fields with their steps described, and the code of the combinator."""
        own = {one.name: _described(getattr(self, one.name)) for one in fields(self) if one.compare}
        return {"step": type(self).__name__, **own, "code": code(type(self))}


def _is_steps(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, Step) for one in value)


def _mapped(value: Any, change: Callable[[OperatorStep], OperatorStep]) -> Any:
    if isinstance(value, Mapping):
        return {name: _mapped(one, change) for name, one in value.items()}
    return tuple(step.mapped(change) for step in value) if _is_steps(value) else value


def _described(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _described(one) for name, one in value.items()}
    return [step.describe() for step in value] if _is_steps(value) else value


@dataclass(frozen=True)
class StepReader:
    """The mapping of a combinator in a method's file; every problem is noted, and none raised.

    `path` is its place and `form` its key; `read` turns a list and its path into steps, and `note`
    keeps a problem.
    """

    item: Mapping[str, Any]
    path: str
    form: str
    read: Callable[[Any, str], Steps]
    note: Callable[[str], None]

    @property
    def label(self) -> str:
        """Where the step is and what it is, e.g. `retrieve.1 branch`."""
        return f"{self.path} {self.form}"

    def steps(self, key: str) -> Steps:
        """Return the list of steps under a key."""
        return self.read(self.item.get(key, ()), self._place(key, "steps"))

    def arms(self, key: str) -> dict[str, Steps]:
        """Return the named lists of steps under a key."""
        arms, path = self.item.get(key), self._place(key, self.form)
        if not isinstance(arms, Mapping) or not arms:
            self.note(f"{path}: named lists of steps were expected, not {arms!r}.")
            return {}
        return {str(name): self.read(steps, f"{path}.{name}") for name, steps in arms.items()}

    def choice(self, key: str, valid: tuple[Any, ...], default: Any) -> Any:
        """Return the value of a key, one of `valid`."""
        value = self.item.get(key, default)
        if value not in valid:
            self.problem(key, f"'{value}' is none of {', '.join(map(str, valid))}.")
        return value

    def rule(self) -> Rule:
        """Return how slots that several lists wrote are merged, `interleave` by default."""
        rule: Rule = self.choice("merge", get_args(Rule), "interleave")
        return rule

    def count(self, key: str, default: int) -> int:
        """Return the value of a key, a whole number above 0."""
        value = self.item.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.problem(key, f"a whole number above 0 was expected, not {value!r}.")
            return 1
        return value

    def problem(self, key: str, what: str) -> None:
        """Note what is wrong with a key."""
        self.note(f"{self.path} {key}: {what}")

    def _place(self, key: str, own: str) -> str:
        return self.path if key == own else f"{self.path}.{key}"


@dataclass(frozen=True)
class Combinator:
    """A combinator: its key, the keys of its lists of steps, of its named lists, its settings."""

    key: str
    lists: tuple[str, ...]
    arms: tuple[str, ...]
    settings: tuple[str, ...]
    read: Callable[[StepReader], Step]

    @property
    def keys(self) -> frozenset[str]:
        """Every key that its mapping may have."""
        return frozenset({self.key, *self.lists, *self.arms, *self.settings})


registered: dict[str, Combinator] = {}
"""Every combinator of the modules that are imported, by key."""


def combinator(
    key: str, *, lists: Sequence[str] = (), arms: Sequence[str] = (), settings: Sequence[str] = ()
) -> Callable[[Callable[[StepReader], Step]], Callable[[StepReader], Step]]:
    """Register what reads a step of that key; raises ValueError for a key of another module."""

    def register(read: Callable[[StepReader], Step]) -> Callable[[StepReader], Step]:
        known = registered.get(key)
        if known is not None and known.read.__module__ != read.__module__:
            raise ValueError(f"there is a combinator '{key}' in {known.read.__module__} already")
        registered[key] = Combinator(key, tuple(lists), tuple(arms), tuple(settings), read)
        return read

    return register
