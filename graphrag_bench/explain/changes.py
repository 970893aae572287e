"""Changes to the steps of a method, as its file has them: another setting, or a step less.

A step is named by its operator (every step with it is changed) or by its place, as `plan` and
`show` print it: `retrieve.1.cases.otherwise.0`.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from graphrag_bench.config.compose import value_of
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.pipeline.combinator import Item
from graphrag_bench.pipeline.combinators import combinators
from graphrag_bench.pipeline.pipeline import STAGES

Kind = Literal["set", "drop", "case", "arm"]


@dataclass(frozen=True)
class Change:
    """One change of a step: a setting's value, or the whole step left out (`drop`).

    Of a `switch` the value is the case that is always taken (`case`), of a `branch` the arm that is
    left out (`arm`).
    """

    kind: Kind
    step: str
    setting: str = ""
    value: Any = None

    def __str__(self) -> str:
        if self.kind == "set":
            return f"{self.step}.{self.setting}={self.value}"
        return f"without {self.step}"


def setting_of(word: str) -> Change:
    """Return a change from `STEP.SETTING=VALUE`; raises UserError."""
    name, equals, value = word.partition("=")
    step, _, setting = name.rpartition(".")
    if not (equals and step):
        raise UserError(f"--set {word}: STEP.SETTING=VALUE was expected, as node.ppr.damping=0.85.")
    return Change("set", step, setting, value_of(value, name))


def changed(method: Mapping[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """Return the method with its steps changed, one change after the other.

    Raises UserError for a step that the method does not have, with the nearest one.
    """
    new: dict[str, Any] = copy.deepcopy(dict(method))
    for change in changes:
        every = places(new)
        wanted = [place for place in every if change.step in place.names]
        if not wanted:
            known = list(dict.fromkeys(name for place in every for name in place.names))
            hint = did_you_mean(change.step, known)
            raise UserError(f"The method has no step '{change.step}'. {hint}")
        for place in reversed(wanted):
            if change.kind == "drop":
                del place.items[place.row]
            elif change.kind == "set":
                place.step[change.setting] = change.value
            elif change.kind == "case":
                place.items[place.row : place.row + 1] = place.step["cases"][change.value]
            else:
                del place.step["branch"][change.value]
    return new


@dataclass(frozen=True)
class StepPlace:
    """Where a step is: its list and row, and its path."""

    items: list[Item]
    row: int
    path: str

    @property
    def step(self) -> Item:
        """The step."""
        return self.items[self.row]

    @property
    def combinator(self) -> str | None:
        """The key of the step's combinator; None for an operator."""
        return next((key for key in combinators() if key in self.step), None)

    @property
    def name(self) -> str:
        """Its operator, or the key of its combinator."""
        return str(self.step.get("op") or self.combinator or "?")

    @property
    def names(self) -> tuple[str, str, str]:
        """What it may be called: its operator, its place, and both as labels have them."""
        return self.name, self.path, f"{self.path} {self.name}"


def places(method: Mapping[str, Any]) -> list[StepPlace]:
    """Return every step of a method, combinators before the steps inside them, in order."""
    return [place for stage in STAGES for place in _within(method.get(stage) or [], stage)]


def _within(items: list[Item], path: str) -> Iterator[StepPlace]:
    for row, step in enumerate(items):
        place = StepPlace(items, row, f"{path}.{row}")
        yield place
        form = place.combinator
        if form is None:
            continue
        combinator = combinators()[form]
        for key in (*combinator.arms, *combinator.lists):
            inside = place.path if key == form else f"{place.path}.{key}"
            if key in combinator.lists:
                yield from _within(step.get(key) or [], inside)
                continue
            for name, steps in (step.get(key) or {}).items():
                yield from _within(steps, f"{inside}.{name}")
