"""A step: one operator with its settings, run over a block of states."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphrag_bench.contract import Operator
from graphrag_bench.models.llm import CallFailed, Completion, Metered
from graphrag_bench.pipeline.attempt import Failure, attempt
from graphrag_bench.pipeline.scope import Scope
from graphrag_bench.values import RetrievalState

Outcome = RetrievalState | Failure


@dataclass(frozen=True)
class StepTrace:
    """What one step did for one question: time, calls and the slots it wrote."""

    step: str
    operator: str
    seconds: float
    replies: tuple[Completion | CallFailed, ...]
    wrote: Mapping[str, Any]


@dataclass
class World:
    """The resources of a run and the trace of every question, kept in the order of the steps."""

    resources: Mapping[str, Any]
    workers: int = 1
    traces: dict[str, list[StepTrace]] = field(default_factory=dict)

    def note(self, state: RetrievalState, trace: StepTrace) -> None:
        """Keep a trace with its question."""
        self.traces.setdefault(state.question.id, []).append(trace)


class Step(Protocol):
    """Anything that can stand in a list of steps: an operator or a combinator."""

    @property
    def label(self) -> str:
        """Where the step stands and what it is, e.g. `retrieve.1 node.ppr`."""
        ...

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """The states with what the step writes, or the failures that took their place."""
        ...

    def check(self, scope: Scope) -> None:
        """Tell `scope` what the step reads, needs and writes, and every problem found."""
        ...

    def describe(self) -> dict[str, Any]:
        """What the run key is made of: names, settings and code."""
        ...

    def operators(self) -> list[OperatorStep]:
        """The operator steps inside, in order."""
        ...

    def bound(self) -> int:
        """The most LLM calls that one question can cost here."""
        ...


@dataclass(frozen=True)
class OperatorStep:
    """An operator with validated settings; `use` names the optional reads it is given."""

    operator: Operator
    settings: Mapping[str, Any]
    label: str
    use: tuple[str, ...] = ()

    def run(self, states: Sequence[RetrievalState], world: World) -> list[Outcome]:
        """One outcome for each state: by the batched twin when there is one and more than one."""
        if self.operator.twin is not None and len(states) > 1:
            began = time.perf_counter()
            results = attempt(self.label, lambda: self._call_twin(states, world))
            if not isinstance(results, Failure):
                each = (time.perf_counter() - began) / len(states)
                return [
                    self._written(state, result, each, (), world)
                    for state, result in zip(states, results, strict=True)
                ]
        if "llm" in self.operator.needs and world.workers > 1 and len(states) > 1:
            with ThreadPoolExecutor(world.workers) as pool:
                done = list(pool.map(lambda state: self._call_one(state, world), states))
        else:
            done = [self._call_one(state, world) for state in states]
        return [
            self._written(state, result, seconds, replies, world)
            for state, (result, seconds, replies) in zip(states, done, strict=True)
        ]

    def _call_twin(self, states: Sequence[RetrievalState], world: World) -> list[Any]:
        columns = [
            [self._read(state, read.slot, read.optional) for state in states]
            for read in self.operator.reads
        ]
        needs = {name: world.resources[name] for name in self.operator.needs}
        assert self.operator.twin is not None
        results: list[Any] = self.operator.twin(*columns, **needs, **self.settings)
        if len(results) != len(states):
            raise ValueError(f"the batched twin gave {len(results)} results for {len(states)}")
        return results

    def _call_one(
        self, state: RetrievalState, world: World
    ) -> tuple[Any, float, tuple[Completion | CallFailed, ...]]:
        needs = {name: world.resources[name] for name in self.operator.needs}
        meters = [name for name in ("llm", "llm_build", "llm_judge") if name in needs]
        for name in meters:
            needs[name] = Metered(needs[name])
        began = time.perf_counter()
        result = attempt(
            self.label,
            lambda: self.operator.function(
                *(self._read(state, read.slot, read.optional) for read in self.operator.reads),
                **needs,
                **self.settings,
            ),
        )
        seconds = time.perf_counter() - began
        return result, seconds, tuple(r for name in meters for r in needs[name].replies)

    def _read(self, state: RetrievalState, slot: str, optional: bool) -> Any:
        if optional and slot not in self.use:
            return None
        value = state.get(slot)
        if value is None and not optional:
            raise LookupError(f"no step has written '{slot}'")
        return value

    def _written(
        self,
        state: RetrievalState,
        result: Any,
        seconds: float,
        replies: tuple[Completion | CallFailed, ...],
        world: World,
    ) -> Outcome:
        slots = [*self.operator.writes, *self.operator.may_write]
        if isinstance(result, Failure):
            world.note(state, StepTrace(self.label, self.operator.name, seconds, replies, {}))
            return result
        values = result if isinstance(result, tuple) else (result,)
        wrote = {
            slot: value for slot, value in zip(slots, values, strict=True) if value is not None
        }
        world.note(state, StepTrace(self.label, self.operator.name, seconds, replies, wrote))
        return state.write(wrote)

    def check(self, scope: Scope) -> None:
        """Reads, needs, attributes and prompt variables, then the slots it writes."""
        for read in self.operator.reads:
            if not read.optional or read.slot in self.use:
                scope.read(self.label, read.slot)
        optional = {read.slot for read in self.operator.reads if read.optional}
        for slot in self.use:
            if slot not in optional:
                scope.problem(f"{self.label} cannot use '{slot}'; it can use {_list(optional)}.")
        for need in self.operator.needs:
            scope.need(self.label, need)
        scope.require(self.label, self.operator.requires)
        for name, value in self.settings.items():
            if hasattr(value, "variables"):
                missing = sorted(value.variables - self.operator.supplies)
                if missing:
                    scope.problem(
                        f"{self.label}: prompt '{value.name}' asks for {_list(missing)}; "
                        f"'{name}' is given {_list(self.operator.supplies)}."
                    )
        scope.write(self.label, self.operator.writes, self.operator.may_write)

    def describe(self) -> dict[str, Any]:
        """Name, code, settings with prompts by digest, and the optional reads used."""
        return {
            "op": self.operator.name,
            "code": self.operator.code,
            "settings": {
                name: value.digest if hasattr(value, "digest") else value
                for name, value in self.settings.items()
            },
            "use": list(self.use),
        }

    def operators(self) -> list[OperatorStep]:
        """Itself."""
        return [self]

    def bound(self) -> int:
        """The most LLM calls of the operator."""
        return self.operator.bound(self.settings)


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"


def run_steps(
    steps: Sequence[Step], states: Sequence[RetrievalState], world: World
) -> list[Outcome]:
    """The outcome of a list of steps for each state; a failed state skips what follows."""
    outcomes: list[Outcome] = list(states)
    for step in steps:
        alive = [row for row, outcome in enumerate(outcomes) if isinstance(outcome, RetrievalState)]
        block = [outcome for outcome in outcomes if isinstance(outcome, RetrievalState)]
        if not block:
            break
        for row, outcome in zip(alive, step.run(block, world), strict=True):
            outcomes[row] = outcome
    return outcomes
