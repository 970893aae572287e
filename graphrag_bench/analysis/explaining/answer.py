"""An answer to a question of one's own, as Python shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.analysis.explaining.own_question import asked_of, told
from graphrag_bench.analysis.explaining.text import explained_lines
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.pipeline.steps import StepTrace
from graphrag_bench.terminal import clean
from graphrag_bench.text import short
from graphrag_bench.values import Context


@dataclass(frozen=True, repr=False)
class Answered:
    """An answer with the context it was given and what every step did.

    `fallbacks` says where the method went another way than its own; `told` is all of it as plain
    values, names in place of ids.
    """

    answer: str
    context: Context
    trace: tuple[StepTrace, ...]
    fallbacks: tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, experiment: Experiment, finished: Finished, resources: Mapping[str, Any]
    ) -> Answered:
        """That of a question that was run with these artifacts and did not fail."""
        made = told(asked_of(experiment, finished, resources), Names.of(resources))
        state = finished.outcome
        assert not isinstance(state, Failure)
        context = state.get("context") or Context(())
        return cls(state.get("answer").text, context, finished.trace, finished.fallbacks, made)

    def __repr__(self) -> str:
        held = f"{len(self.context.pieces)} pieces of context, {len(self.trace)} steps"
        return f"<Answered {short(self.answer)!r}: {held}; print(answered.report()) shows them>"

    def report(self) -> str:
        """The answer, the fallbacks taken, its context, and its steps by name, as text."""
        return clean("\n".join(explained_lines(self.told)))
