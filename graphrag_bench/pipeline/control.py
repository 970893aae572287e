"""The combinators: branch, repeat, each and switch. Each is itself a step, so they nest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.joining import combined, described, inside, join, new_unread
from graphrag_bench.pipeline.merge import MERGEABLE, SPLITTABLE, Keep, Rule, empty, merge, split
from graphrag_bench.pipeline.scope import Scope
from graphrag_bench.pipeline.steps import OperatorStep, Outcome, Steps, World, run_steps
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Branch:
    """Arms that each get their own copy of the state; slots that several wrote are merged."""

    arms: Mapping[str, Steps]
    merge: Rule
    label: str

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """The states with the slots of all arms; a failure in any arm fails the question."""
        by_arm = [run_steps(steps, states, world) for steps in self.arms.values()]
        return [
            self._merged(state, [arm[row] for arm in by_arm]) for row, state in enumerate(states)
        ]

    def _merged(self, state: RetrievalState, outcomes: list[Outcome]) -> Outcome:
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                return outcome
        return state.write(combined(state, outcomes, self.merge))

    def check(self, scope: Scope) -> None:
        """Every arm from the same start; slots that two arms write must be mergeable."""
        arms = []
        for steps in self.arms.values():
            arm = scope.copy()
            for step in steps:
                step.check(arm)
            arms.append(arm)
        wrote = [new_unread(scope, arm) for arm in arms]
        for slot in sorted(set().union(*wrote)):
            if sum(slot in slots for slots in wrote) > 1 and slot not in MERGEABLE:
                scope.problem(f"{self.label}: several arms write '{slot}', which cannot be merged.")
        join(scope, arms)
        scope.written = set().union(*(arm.written for arm in arms))

    def describe(self) -> dict[str, Any]:
        """The arms and the merge rule."""
        return {"branch": described(self.arms), "merge": self.merge, "code": code(merge)}

    def operators(self) -> list[OperatorStep]:
        """The operator steps of all arms."""
        return [op for steps in self.arms.values() for step in steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of all arms together."""
        return sum(step.bound() for steps in self.arms.values() for step in steps)


@dataclass(frozen=True)
class Switch:
    """The arm that the value of a slot names; the state goes on unchanged when none does.

    A slot that is not written, or has no items, is `empty`; any other value stands for itself as
    text, and for `some`. The arm `otherwise` takes what no other arm names. `fallback` says of arms
    that are not the method's own way why they are taken, and what they do instead.
    """

    slot: str
    cases: Mapping[str, Steps]
    label: str
    fallback: Mapping[str, str] = field(default_factory=dict)

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """Each state after its arm; states of one arm run as one block. Fallbacks are noted."""
        names = [self._case(state) for state in states]
        for state, name in zip(states, names, strict=True):
            if name in self.fallback:
                world.fall_back(state, self.fallback[name])
        outcomes: list[Outcome] = list(states)
        for name, steps in self.cases.items():
            rows = [row for row, chosen in enumerate(names) if chosen == name]
            for row, outcome in zip(
                rows, run_steps(steps, [states[row] for row in rows], world), strict=True
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

    def check(self, scope: Scope) -> None:
        """Looks at the slot; what every arm writes counts as written."""
        scope.look(self.label, self.slot)
        arms = []
        for name, steps in self.cases.items():
            arm = scope.copy()
            if name not in ("empty", "otherwise") or (name != "empty" and "empty" in self.cases):
                arm.written.add(self.slot)
            for step in steps:
                step.check(arm)
            arms.append(arm)
        total = "otherwise" in self.cases or {"empty", "some"} <= set(self.cases)
        ways = arms if total else [*arms, scope.copy()]
        join(scope, arms)
        scope.written = set.intersection(*(arm.written for arm in ways))

    def describe(self) -> dict[str, Any]:
        """The slot and the arms."""
        return {"switch": self.slot, "cases": described(self.cases)}

    def operators(self) -> list[OperatorStep]:
        """The operator steps of all arms."""
        return [op for steps in self.cases.values() for step in steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of the dearest arm."""
        return max((sum(s.bound() for s in steps) for steps in self.cases.values()), default=0)


@dataclass(frozen=True)
class Repeat:
    """The inner steps up to `times` times, stopping early once the slot `until` says yes.

    `keep` says what becomes of the rows that earlier rounds wrote: only the last round's (`last`),
    or those of all rounds by first appearance (`union`) or by best score (`max`).
    """

    times: int
    steps: Steps
    label: str
    until: str | None = None
    keep: Keep = "last"

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """Each state after its last round; only unfinished states run on, as one block."""
        outcomes: list[Outcome] = list(states)
        rounds: list[list[RetrievalState]] = [[] for _ in states]
        active = list(range(len(states)))
        for _ in range(self.times):
            block = [out for row in active if isinstance(out := outcomes[row], RetrievalState)]
            for row, outcome in zip(active, run_steps(self.steps, block, world), strict=True):
                outcomes[row] = outcome
                if isinstance(outcome, RetrievalState):
                    rounds[row].append(outcome)
            active = [row for row in active if self._goes_on(outcomes[row])]
        return [
            self._kept(states[row], outcome, rounds[row]) for row, outcome in enumerate(outcomes)
        ]

    def _goes_on(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Failure):
            return False
        return not (self.until and outcome.get(self.until))

    def _kept(
        self, start: RetrievalState, outcome: Outcome, rounds: list[RetrievalState]
    ) -> Outcome:
        if isinstance(outcome, Failure) or self.keep == "last" or len(rounds) < 2:
            return outcome
        slots = combined(start, list(rounds), self.keep)
        last = {slot: outcome.get(slot) for slot in slots if slot not in MERGEABLE}
        return outcome.write({**slots, **last})

    def check(self, scope: Scope) -> None:
        """The inner steps once; `until` must be written by them, if only sometimes."""
        for step in self.steps:
            step.check(scope)
        written = {slot for inner in self.operators() for slot in inner.operator.returns}
        if self.until in written:
            scope.unread.pop(self.until, None)
        elif self.until:
            scope.look(self.label, self.until)
        scope.unread = {s: w for s, w in scope.unread.items() if not inside(w, self.steps)}

    def describe(self) -> dict[str, Any]:
        """Times, stopping slot, keeping rule and steps."""
        inner = [step.describe() for step in self.steps]
        return {
            "repeat": self.times,
            "until": self.until,
            "keep": self.keep,
            "steps": inner,
            "code": code(merge),
        }

    def operators(self) -> list[OperatorStep]:
        """The operator steps inside."""
        return [op for step in self.steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of all rounds together."""
        return self.times * sum(step.bound() for step in self.steps)


@dataclass(frozen=True)
class Each:
    """The inner steps once for every item of a slot, each on a copy that holds that item alone."""

    slot: str
    steps: Steps
    merge: Rule
    label: str
    at_most: int = 64

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """The states with what the items' steps wrote, merged; of no item, empty lists.

        At most `at_most` items are taken, from the front. One failed item fails the question.
        """
        items = [
            split(value)[: self.at_most] if (value := state.get(self.slot)) is not None else []
            for state in states
        ]
        block = [
            state.write({self.slot: item})
            for state, held in zip(states, items, strict=True)
            for item in held
        ]
        done = iter(run_steps(self.steps, block, world))
        outcomes: list[Outcome] = []
        for state, held in zip(states, items, strict=True):
            results = [next(done) for _ in held]
            outcomes.append(self._merged(state, held, results))
        return outcomes

    def _merged(self, state: RetrievalState, items: list[Any], results: list[Outcome]) -> Outcome:
        if not items:
            return state.write({s: empty(s) for s in self._writes() if state.get(s) is None})
        untouched = True
        for item, result in zip(items, results, strict=True):
            if isinstance(result, Failure):
                return result
            untouched = untouched and result.get(self.slot) is item
        new = combined(state, results, self.merge)
        if untouched:
            new.pop(self.slot, None)
        return state.write(new)

    def _writes(self) -> list[str]:
        """The slots that the inner steps always write, in order."""
        return [slot for step in self.operators() for slot in step.operator.writes]

    def check(self, scope: Scope) -> None:
        """Reads a slot that has items; writes what the inner steps write, mergeable slots only.

        A slot that has no empty value may be written only, because there may be no item.
        """
        scope.read(self.label, self.slot)
        if self.slot not in SPLITTABLE:
            known = ", ".join(sorted(SPLITTABLE))
            scope.problem(f"{self.label}: '{self.slot}' has no items; slots that do: {known}.")
        inner = scope.copy()
        for step in self.steps:
            step.check(inner)
        for slot in sorted(new_unread(scope, inner)):
            if slot not in MERGEABLE:
                scope.problem(f"{self.label}: '{slot}' of several items cannot be merged.")
        join(scope, [inner])
        new = inner.written - scope.written
        scope.written |= {s for s in new if s not in MERGEABLE or empty(s) is not None}

    def describe(self) -> dict[str, Any]:
        """The slot, the merge rule and the steps."""
        inner = [step.describe() for step in self.steps]
        return {
            "each": self.slot,
            "merge": self.merge,
            "at_most": self.at_most,
            "steps": inner,
            "code": code(merge),
        }

    def operators(self) -> list[OperatorStep]:
        """The operator steps inside."""
        return [op for step in self.steps for op in step.operators()]

    def bound(self) -> int:
        """Calls for `at_most` items."""
        return self.at_most * sum(step.bound() for step in self.steps)
