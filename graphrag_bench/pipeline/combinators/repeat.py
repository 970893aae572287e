"""The combinator `repeat`: the same steps in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from graphrag_bench.fingerprint import code
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Reader, combinator
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.joining import combined, inside
from graphrag_bench.pipeline.merge import MERGEABLE, Keep, merge
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Step, Steps, run_steps
from graphrag_bench.values import RetrievalState


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

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Each state after its last round; only unfinished states run on, as one block."""
        outcomes: list[Outcome] = list(states)
        rounds: list[list[RetrievalState]] = [[] for _ in states]
        active = list(range(len(states)))
        for _ in range(self.times):
            block = [out for row in active if isinstance(out := outcomes[row], RetrievalState)]
            for row, outcome in zip(active, run_steps(self.steps, block, execution), strict=True):
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

    def check(self, checker: Checker) -> None:
        """The inner steps once; `until` must be written by them, if only sometimes."""
        for step in self.steps:
            step.check(checker)
        written = {slot for inner in self.operators() for slot in inner.operator.returns}
        if self.until in written:
            checker.unread.pop(self.until, None)
        elif self.until:
            checker.look(self.label, self.until)
        checker.unread = {s: w for s, w in checker.unread.items() if not inside(w, self.steps)}

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


@combinator("repeat", lists=("steps",), settings=("until", "keep"))
def read_repeat(read: Reader) -> Step:
    """`{repeat: TIMES, until: SLOT, keep: RULE, steps: STEPS}`."""
    keep = read.choice("keep", get_args(Keep), "last")
    times = read.count("repeat", 1)
    steps = read.steps("steps")
    until = read.item.get("until")
    if until is not None and not isinstance(until, str):
        read.problem("until", f"the name of a slot was expected, not {until!r}.")
        until = None
    return Repeat(times, steps, read.label, until, keep)
