"""What the combinators share: the states and checkers of several arms joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.merge import MERGEABLE, Keep, Rule, merge
from graphrag_bench.pipeline.steps import Outcome, Steps
from graphrag_bench.values import RetrievalState


def combined(
    start: RetrievalState, outcomes: Sequence[Outcome], rule: Rule | Keep
) -> dict[str, Any]:
    """The slots that any outcome wrote since `start`; those of several outcomes are merged."""
    values: dict[str, list[Any]] = {}
    for outcome in outcomes:
        assert isinstance(outcome, RetrievalState)
        for slot in outcome:
            if outcome.get(slot) is not start.get(slot):
                values.setdefault(slot, []).append(outcome.get(slot))
    return {
        slot: merge(held, rule) if slot in MERGEABLE else held[-1]  # type: ignore[arg-type]
        for slot, held in values.items()
    }


def described(arms: Mapping[str, Steps]) -> dict[str, Any]:
    """The description of every arm, by name."""
    return {name: [step.describe() for step in steps] for name, steps in arms.items()}


def new_unread(checker: Checker, arm: Checker) -> set[str]:
    """The slots an arm wrote and did not read itself."""
    return {slot for slot, writer in arm.unread.items() if checker.unread.get(slot) != writer}


def join(checker: Checker, arms: Sequence[Checker]) -> None:
    """Slots unread before and read in any arm are read; what arms leave unread is unread."""
    before = {s: w for s, w in checker.unread.items() if all(a.unread.get(s) == w for a in arms)}
    after = {s: w for arm in arms for s, w in arm.unread.items() if checker.unread.get(s) != w}
    checker.unread = {**before, **after}
    checker.maybe = checker.maybe.union(*(arm.maybe | arm.written for arm in arms))


def inside(writer: str, steps: Steps) -> bool:
    """Whether the label of a writer is that of one of the steps."""
    return any(writer == op.label for step in steps for op in step.operators())
