"""The combinator `each`: the same steps once for every item of a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Reader, combinator
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.joining import combined, join, new_unread
from graphrag_bench.pipeline.merge import MERGEABLE, SPLITTABLE, Rule, empty, merge, split
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Step, Steps, run_steps
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Each:
    """The inner steps once for every item of a slot, each on a copy that holds that item alone."""

    slot: str
    steps: Steps
    merge: Rule
    label: str
    at_most: int = 64

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
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
        done = iter(run_steps(self.steps, block, execution))
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
        return [slot for step in self.operators() for slot in step.operator.writes]

    def check(self, checker: Checker) -> None:
        """Reads a slot that has items; writes what the inner steps write, mergeable slots only.

        A slot that has no empty value may be written only, because there may be no item.
        """
        checker.read(self.label, self.slot)
        if self.slot not in SPLITTABLE:
            known = ", ".join(sorted(SPLITTABLE))
            checker.problem(f"{self.label}: '{self.slot}' has no items; slots that do: {known}.")
        inner = checker.copy()
        for step in self.steps:
            step.check(inner)
        for slot in sorted(new_unread(checker, inner)):
            if slot not in MERGEABLE:
                checker.problem(f"{self.label}: '{slot}' of several items cannot be merged.")
        join(checker, [inner])
        new = inner.written - checker.written
        checker.written |= {s for s in new if s not in MERGEABLE or empty(s) is not None}

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


@combinator("each", lists=("steps",), settings=("merge", "at_most"))
def read_each(read: Reader) -> Step:
    """`{each: SLOT, merge: RULE, at_most: N, steps: STEPS}`."""
    rule = read.choice("merge", get_args(Rule), "interleave")
    steps = read.steps("steps")
    return Each(str(read.item["each"]), steps, rule, read.label, read.count("at_most", 64))
