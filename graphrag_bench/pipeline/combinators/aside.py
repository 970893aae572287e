"""The combinator `aside`: steps apart from the method's own, of which some slots are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Reader, combinator
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Step, Steps, run_steps
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Aside:
    """The inner steps on a copy of the state; only the slots `keep` of it are taken over.

    What else they write, such as nodes of their own, the steps that follow never see.
    """

    keep: tuple[str, ...]
    steps: Steps
    label: str

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """The states with the kept slots; a failed inner step fails the question."""
        done = run_steps(self.steps, states, execution)
        return [self._kept(state, outcome) for state, outcome in zip(states, done, strict=True)]

    def _kept(self, state: RetrievalState, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Failure):
            return outcome
        return state.write({slot: outcome.get(slot) for slot in self.keep})

    def check(self, checker: Checker) -> None:
        """The inner steps must write what is kept, and may overwrite what no step has read."""
        inner = checker.copy()
        inner.unread = {}
        for step in self.steps:
            step.check(inner)
        returned = {slot for op in self.operators() for slot in op.operator.returns}
        for slot in sorted(set(self.keep) - returned):
            checker.problem(f"{self.label} keeps '{slot}', which none of its steps writes.")
        read = {
            read.slot
            for op in self.operators()
            for read in op.operator.reads
            if not read.optional or read.slot in op.use
        }
        kept = {slot: writer for slot, writer in inner.unread.items() if slot in self.keep}
        checker.unread = {s: w for s, w in checker.unread.items() if s not in read | set(self.keep)}
        checker.unread |= kept
        checker.written |= inner.written & set(self.keep)
        checker.maybe |= inner.maybe & set(self.keep)

    def describe(self) -> dict[str, Any]:
        """The kept slots and the steps."""
        return {"aside": list(self.keep), "steps": [step.describe() for step in self.steps]}

    def operators(self) -> list[OperatorStep]:
        """The operator steps inside."""
        return [op for step in self.steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of the inner steps."""
        return sum(step.bound() for step in self.steps)


@combinator("aside", lists=("steps",))
def read_aside(read: Reader) -> Step:
    """`{aside: SLOTS, steps: STEPS}`."""
    keep = read.item["aside"]
    if isinstance(keep, str) or not isinstance(keep, Sequence) or not keep:
        read.problem("aside", f"a list of slots was expected, not {keep!r}.")
        keep = ()
    return Aside(tuple(map(str, keep)), read.steps("steps"), read.label)
