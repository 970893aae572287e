"""The combinator `switch`: the arm that the value of a slot names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.errors import did_you_mean
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Reader, combinator
from graphrag_bench.pipeline.joining import described, join
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Step, Steps, run_steps
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Switch:
    """The arm that the value of a slot names; the state goes on unchanged when none does.

    A slot that is not written, or has no items, is `empty`; any other value is itself as
    text, and `some`. The arm `otherwise` takes what no other arm names. `fallback` says of arms
    that are not the method's own way why they are taken, and what they do instead.
    """

    slot: str
    cases: Mapping[str, Steps]
    label: str
    fallback: Mapping[str, str] = field(default_factory=dict)

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Each state after its arm; states of one arm run as one block. Fallbacks are noted."""
        names = [self._case(state) for state in states]
        for state, name in zip(states, names, strict=True):
            if name in self.fallback:
                execution.fall_back(state, self.fallback[name])
        outcomes: list[Outcome] = list(states)
        for name, steps in self.cases.items():
            rows = [row for row, chosen in enumerate(names) if chosen == name]
            for row, outcome in zip(
                rows, run_steps(steps, [states[row] for row in rows], execution), strict=True
            ):
                outcomes[row] = outcome
        return outcomes

    def _case(self, state: RetrievalState) -> str:
        value = state.get(self.slot)
        sized = value is not None and hasattr(value, "__len__")
        name = "empty" if value is None or (sized and not len(value)) else str(value)
        if name not in self.cases and name != "empty" and "some" in self.cases:
            name = "some"
        return name if name in self.cases else "otherwise"

    def check(self, checker: Checker) -> None:
        """Looks at the slot; what every arm writes counts as written."""
        checker.look(self.label, self.slot)
        arms = []
        for name, steps in self.cases.items():
            arm = checker.copy()
            if name not in ("empty", "otherwise") or (name != "empty" and "empty" in self.cases):
                arm.written.add(self.slot)
            for step in steps:
                step.check(arm)
            arms.append(arm)
        total = "otherwise" in self.cases or {"empty", "some"} <= set(self.cases)
        ways = arms if total else [*arms, checker.copy()]
        join(checker, arms)
        checker.written = set.intersection(*(arm.written for arm in ways))

    def describe(self) -> dict[str, Any]:
        """The slot and the arms."""
        return {"switch": self.slot, "cases": described(self.cases)}

    def operators(self) -> list[OperatorStep]:
        """The operator steps of all arms."""
        return [op for steps in self.cases.values() for step in steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of the dearest arm."""
        return max((sum(s.bound() for s in steps) for steps in self.cases.values()), default=0)


@combinator("switch", arms=("cases",), settings=("fallback",))
def read_switch(read: Reader) -> Step:
    """`{switch: SLOT, cases: {VALUE: STEPS}, fallback: {VALUE: REASON}}`."""
    cases = read.arms("cases")
    return Switch(str(read.item["switch"]), cases, read.label, _fallback(read, cases))


def _fallback(read: Reader, cases: Mapping[str, Steps]) -> dict[str, str]:
    given = read.item.get("fallback") or {}
    if not isinstance(given, Mapping):
        read.problem("fallback", f"a reason for each case was expected, not {given!r}.")
        return {}
    for name, reason in given.items():
        if str(name) not in cases:
            read.problem("fallback", f"no case '{name}'. {did_you_mean(str(name), cases)}")
        if not isinstance(reason, str) or not reason.strip():
            read.problem("fallback", f"case '{name}' needs a reason in words, not {reason!r}.")
    return {str(name): str(reason) for name, reason in given.items()}
