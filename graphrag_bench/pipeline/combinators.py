"""The combinators `branch`, `each`, `repeat` and `switch`; `resolve` has its own module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field, PositiveInt

import graphrag_bench.pipeline.resolve  # noqa: F401, registers its combinator
from graphrag_bench.errors import did_you_mean
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Arms, Nested, combinator
from graphrag_bench.pipeline.merge import (
    MERGEABLE,
    SPLITTABLE,
    Keep,
    Rule,
    empty,
    merged_slots,
    split,
)
from graphrag_bench.pipeline.steps import (
    Execution,
    Failure,
    Outcome,
    Steps,
    checker_after,
    run_steps,
)
from graphrag_bench.values import RetrievalState


@combinator("branch")
@dataclass(frozen=True)
class Branch(Nested):
    """Arms that run on copies of the state; slots that several arms wrote are merged.

    With `only` just these slots are taken over.
    """

    arms: Arms
    merge: Rule = "interleave"
    only: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return the states with the slots of all arms; a failed arm fails the question."""
        by_arm = [run_steps(steps, states, execution) for steps in self.parts]
        return [
            self._merged(state, [arm[row] for arm in by_arm]) for row, state in enumerate(states)
        ]

    def _merged(self, state: RetrievalState, outcomes: list[Outcome]) -> Outcome:
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        if failures:
            return failures[0]
        new = merged_slots(state, outcomes, self.merge)
        return state.write({s: value for s, value in new.items() if s in (self.only or new)})

    def check(self, checker: Checker) -> None:
        """Check every arm; slots that two arms write must be mergeable."""
        start = replace(checker.copy(), unread={}) if self.only else checker
        arms = [checker_after(steps, start) for steps in self.parts]
        wrote = [start.unread_of(arm) for arm in arms]
        every = set().union(*wrote)
        for slot in sorted(every.intersection(self.only or every)):
            if sum(slot in slots for slots in wrote) > 1 and slot not in MERGEABLE:
                checker.problem(
                    f"{self.label}: several arms write '{slot}', which cannot be merged."
                )
        if self.only:
            self._take_over(self.only, checker, arms)
        else:
            checker.join(arms)
            checker.written = set().union(*(arm.written for arm in arms))

    def _take_over(self, only: tuple[str, ...], checker: Checker, arms: Sequence[Checker]) -> None:
        operators = self.operators()
        written = {op.writes(slot) for op in operators for slot in op.operator.returns}
        for slot in sorted(set(only) - written):
            checker.problem(f"{self.label} only: no step inside writes '{slot}'.")
        used = {*only, *(source for op in operators for _, source in op.reads)}
        checker.unread = {slot: w for slot, w in checker.unread.items() if slot not in used}
        for arm in arms:
            checker.unread |= {slot: w for slot, w in arm.unread.items() if slot in only}
            checker.written |= arm.written.intersection(only)
            checker.maybe |= arm.maybe.intersection(only)


@combinator("each")
@dataclass(frozen=True)
class Each(Nested):
    """Loop over the items of a slot; the inner steps run on a copy of the state with one item."""

    slot: str
    steps: Steps
    merge: Rule = "interleave"
    at_most: PositiveInt = 64

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return the states with the merged slots of all items; empty lists if there are no items.

        Only the first `at_most` items are used. A failed item fails the question.
        """
        items = [
            split(value)[: self.at_most] if (value := state.get(self.slot)) is not None else []
            for state in states
        ]
        block = [
            state.write({self.slot: item})
            for state, own in zip(states, items, strict=True)
            for item in own
        ]
        outcomes = iter(run_steps(self.steps, block, execution))
        return [
            self._merged(state, own, [next(outcomes) for _ in own])
            for state, own in zip(states, items, strict=True)
        ]

    def _merged(self, state: RetrievalState, items: list[Any], outcomes: list[Outcome]) -> Outcome:
        if not items:
            writes = [(op, slot) for op in self.operators() for slot in op.operator.writes]
            nothing = {op.writes(slot): empty(slot) for op, slot in writes}
            return state.write({name: v for name, v in nothing.items() if state.get(name) is None})
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                return outcome
        new = merged_slots(state, outcomes, self.merge)
        pairs = zip(items, outcomes, strict=True)
        if all(isinstance(o, RetrievalState) and o.get(self.slot) is item for item, o in pairs):
            new.pop(self.slot, None)
        return state.write(new)

    def check(self, checker: Checker) -> None:
        """Check the inner steps; the slot must have items, and written slots must be mergeable.

        A slot without an empty value counts as maybe written, because there may be no item.
        """
        checker.read(self.label, self.slot)
        if self.slot not in SPLITTABLE:
            known = ", ".join(sorted(SPLITTABLE))
            checker.problem(f"{self.label}: '{self.slot}' has no items. Slots with items: {known}.")
        inner = checker_after(self.steps, checker)
        for slot in sorted(checker.unread_of(inner)):
            if slot not in MERGEABLE:
                checker.problem(f"{self.label}: '{slot}' cannot be merged over items.")
        checker.join([inner])
        new = inner.written - checker.written
        checker.written |= {s for s in new if s not in MERGEABLE or empty(s) is not None}

    def max_calls(self) -> int:
        """Return the calls of `at_most` items."""
        return self.at_most * super().max_calls()


@combinator("repeat")
@dataclass(frozen=True)
class Repeat(Nested):
    """Loop that runs the inner steps until the slot `until` is true, at most `times` times.

    `keep` selects the rows of the last round (`last`), or merges the rows of all rounds by first
    appearance (`union`) or by best score (`max`).
    """

    times: PositiveInt
    steps: Steps
    until: str | None = None
    keep: Keep = "last"

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return each state after its last round; a round runs all unfinished states as a block."""
        outcomes: list[Outcome] = list(states)
        rounds: list[list[Outcome]] = [[] for _ in states]
        active = list(range(len(states)))
        for _ in range(self.times):
            block = [out for row in active if isinstance(out := outcomes[row], RetrievalState)]
            for row, outcome in zip(active, run_steps(self.steps, block, execution), strict=True):
                outcomes[row] = outcome
                rounds[row].append(outcome)
            active = [row for row in active if self._goes_on(outcomes[row])]
        return [
            self._merged(states[row], outcome, rounds[row]) for row, outcome in enumerate(outcomes)
        ]

    def _goes_on(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Failure):
            return False
        return not (self.until and outcome.get(self.until))

    def _merged(self, start: RetrievalState, outcome: Outcome, rounds: list[Outcome]) -> Outcome:
        if isinstance(outcome, Failure) or self.keep == "last" or len(rounds) < 2:
            return outcome
        slots = merged_slots(start, rounds, self.keep)
        last = {slot: outcome.get(slot) for slot in slots if slot not in MERGEABLE}
        return outcome.write({**slots, **last})

    def check(self, checker: Checker) -> None:
        """Check the inner steps once; one of them must write `until`, at least sometimes."""
        for step in self.steps:
            step.check(checker)
        written = {op.writes(slot) for op in self.operators() for slot in op.operator.returns}
        if self.until in written:
            checker.unread.pop(self.until, None)
        elif self.until:
            checker.read_maybe(self.label, self.until)
        inside = {op.label for op in self.operators()}
        checker.unread = {s: w for s, w in checker.unread.items() if w not in inside}

    def max_calls(self) -> int:
        """Return the calls of all rounds."""
        return self.times * super().max_calls()


@combinator("switch")
@dataclass(frozen=True)
class Switch(Nested):
    """Choice among lists of steps by the value of a slot; no step runs if no case matches.

    A missing value or one of length 0 selects `empty`; any other value selects the case of its
    text, else `some`. `otherwise` matches if no other case does. `fallback` maps a case to the
    reason that is recorded as a fallback when the case runs.
    """

    slot: str
    cases: Arms
    fallback: Mapping[str, Annotated[str, Field(min_length=1)]] = field(
        default_factory=dict, compare=False
    )

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return each state after its case; states with the same case run as one block."""
        names = [self._case(state) for state in states]
        for state, name in zip(states, names, strict=True):
            if name in self.fallback:
                execution.add_fallback(state, self.fallback[name])
        outcomes: list[Outcome] = list(states)
        for name, steps in self.cases.items():
            rows = [row for row, case in enumerate(names) if case == name]
            ends = run_steps(steps, [states[row] for row in rows], execution)
            for row, outcome in zip(rows, ends, strict=True):
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
        """Check every case; slots that all cases write count as written."""
        for name in self.fallback:
            if name not in self.cases:
                hint = did_you_mean(name, list(self.cases))
                checker.problem(f"{self.label} fallback: there is no case '{name}'. {hint}")
        checker.read_maybe(self.label, self.slot)
        arms = []
        for name, steps in self.cases.items():
            empty_elsewhere = name == "otherwise" and "empty" in self.cases
            filled = name not in ("empty", "otherwise") or empty_elsewhere
            arms.append(checker_after(steps, checker, {self.slot} if filled else set()))
        total = "otherwise" in self.cases or {"empty", "some"} <= set(self.cases)
        ways = arms if total else [*arms, checker.copy()]
        checker.join(arms)
        checker.written = set.intersection(*(arm.written for arm in ways))

    def max_calls(self) -> int:
        """Return the calls of the most expensive case."""
        return max((sum(s.max_calls() for s in steps) for steps in self.parts), default=0)
