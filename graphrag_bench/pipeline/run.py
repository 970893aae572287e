"""Questions through a pipeline: a block at a time, one finished question after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from graphrag_bench.errors import caught
from graphrag_bench.pipeline.build import Pipeline
from graphrag_bench.pipeline.failure import Failure, own_lines
from graphrag_bench.pipeline.steps import Execution, Outcome, Step, StepTrace, run_steps
from graphrag_bench.values import Question, RetrievalState

BLOCK = 64
T = TypeVar("T")


def attempt(step: str, work: Callable[[], T]) -> T | Failure:
    """What `work` returns, or the Failure made from its error: a run outlives one question.

    A UserError goes through: what the user must fix would fail every question alike.
    """
    found = caught(work)
    if isinstance(found, Exception):
        return Failure(step, type(found).__name__, str(found) or repr(found), own_lines(found))
    return found


@dataclass(frozen=True)
class Finished:
    """A question with its final state, or the failure and the last state before it.

    `fallbacks` says where the method went another way than its own, in the order of its steps.
    """

    question: Question
    outcome: Outcome
    trace: tuple[StepTrace, ...]
    fallbacks: tuple[str, ...] = ()

    @property
    def failure(self) -> Failure | None:
        """The failure, if it failed."""
        return self.outcome if isinstance(self.outcome, Failure) else None


def run(
    questions: Sequence[Question],
    pipeline: Pipeline,
    execution: Execution,
    *,
    answering: bool = True,
    start: Callable[[Question], RetrievalState] = RetrievalState,
) -> Iterator[Finished]:
    """Every question once, yielded when its last step has ended, in the order given.

    `start` makes the state that the first step is given. Without `answering` the last steps are
    those that pack the context, as long as they call no model.

    Retrieval runs in blocks, for the batched operators; generation runs in small blocks of
    `execution.workers` questions, so that little is lost when a process is killed.
    """
    execution = replace(execution, attempt=attempt)
    early = (*pipeline.convert, *pipeline.retrieve)
    late = pipeline.generate if answering else pipeline.packing
    small = max(1, execution.workers)
    block = BLOCK if not any(step.bound() for step in early) else small
    parts = [questions[first : first + block] for first in range(0, len(questions), block)]
    starts = ([start(question) for question in part] for part in parts)
    retrieved: Iterator[list[Outcome]] = (run_steps(early, one, execution) for one in starts)
    for part, outcomes in zip(parts, retrieved, strict=True):
        for near in range(0, len(part), small):
            rows = slice(near, near + small)
            yield from _finish(part[rows], outcomes[rows], late, execution)


def _finish(
    questions: Sequence[Question],
    outcomes: Sequence[Outcome],
    steps: Sequence[Step],
    execution: Execution,
) -> Iterator[Finished]:
    alive = [row for row, outcome in enumerate(outcomes) if isinstance(outcome, RetrievalState)]
    block = [outcome for outcome in outcomes if isinstance(outcome, RetrievalState)]
    final = list(outcomes)
    for row, outcome in zip(alive, run_steps(steps, block, execution), strict=True):
        final[row] = outcome
    for question, outcome in zip(questions, final, strict=True):
        trace = tuple(execution.traces.pop(question.id, ()))
        yield Finished(question, outcome, trace, tuple(execution.fallbacks.pop(question.id, ())))
