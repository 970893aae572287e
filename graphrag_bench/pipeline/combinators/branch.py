"""The combinator `branch`: named arms, each on its own copy of the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Reader, combinator
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.joining import combined, described, join, new_unread
from graphrag_bench.pipeline.merge import MERGEABLE, Rule, merge
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Step, Steps, run_steps
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Branch:
    """Arms that each get their own copy of the state; slots that several wrote are merged."""

    arms: Mapping[str, Steps]
    merge: Rule
    label: str

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """The states with the slots of all arms; a failure in any arm fails the question."""
        by_arm = [run_steps(steps, states, execution) for steps in self.arms.values()]
        return [
            self._merged(state, [arm[row] for arm in by_arm]) for row, state in enumerate(states)
        ]

    def _merged(self, state: RetrievalState, outcomes: list[Outcome]) -> Outcome:
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                return outcome
        return state.write(combined(state, outcomes, self.merge))

    def check(self, checker: Checker) -> None:
        """Every arm from the same start; slots that two arms write must be mergeable."""
        arms = []
        for steps in self.arms.values():
            arm = checker.copy()
            for step in steps:
                step.check(arm)
            arms.append(arm)
        wrote = [new_unread(checker, arm) for arm in arms]
        for slot in sorted(set().union(*wrote)):
            if sum(slot in slots for slots in wrote) > 1 and slot not in MERGEABLE:
                checker.problem(
                    f"{self.label}: several arms write '{slot}', which cannot be merged."
                )
        join(checker, arms)
        checker.written = set().union(*(arm.written for arm in arms))

    def describe(self) -> dict[str, Any]:
        """The arms and the merge rule."""
        return {"branch": described(self.arms), "merge": self.merge, "code": code(merge)}

    def operators(self) -> list[OperatorStep]:
        """The operator steps of all arms."""
        return [op for steps in self.arms.values() for step in steps for op in step.operators()]

    def bound(self) -> int:
        """Calls of all arms together."""
        return sum(step.bound() for steps in self.arms.values() for step in steps)


@combinator("branch", arms=("branch",), settings=("merge",))
def read_branch(read: Reader) -> Step:
    """`{branch: {NAME: STEPS}, merge: RULE}`."""
    rule = read.choice("merge", get_args(Rule), "interleave")
    return Branch(read.arms("branch"), rule, read.label)
