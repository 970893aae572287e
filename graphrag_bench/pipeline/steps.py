"""Steps of a pipeline, and their check before a run. A step processes several questions at once."""

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from graphrag_bench.contract import Operator, Read, by_slot, operators
from graphrag_bench.errors import result_or_error
from graphrag_bench.fingerprint import code
from graphrag_bench.llm.calls import Completion, FailureGate, Meter, RequestsWritten, Usage
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.text import show_briefly
from graphrag_bench.values import SLOTS, RetrievalState


@dataclass
class Checker:
    """State of the check at a step of a pipeline: the slots so far, and the problems found.

    `written` contains the slots that earlier steps always write. `maybe` contains the slots that
    they write only sometimes. Only combinators may read these slots. `unread` contains the slots
    whose value no step has read, each with the step that wrote it. `resources` are the resources of
    the method, and `attributes` the attributes of its graph. The value None turns off the check.
    """

    resources: frozenset[str] | None = None
    attributes: frozenset[str] | None = None
    written: set[str] = field(default_factory=lambda: {"question"})
    maybe: set[str] = field(default_factory=set)
    unread: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def after(self, steps: "Steps", written: Iterable[str] = ()) -> "Checker":
        """Return a copy of this checker after it has checked `steps`.

        The steps may also read the slots in `written`.
        """
        slots = {*self.written, *written}
        copy = replace(self, written=slots, maybe={*self.maybe}, unread={**self.unread})
        for step in steps:
            step.check(copy)
        return copy

    def unread_of(self, arm: "Checker") -> set[str]:
        """Return the slots that an arm wrote but did not read. `arm` is the arm's checker."""
        return {slot for slot, writer in arm.unread.items() if self.unread.get(slot) != writer}

    def join(self, arms: "Sequence[Checker]", written: Iterable[str]) -> None:
        """Add the slots that the arms of a combinator wrote, given the checkers of the arms.

        Slots in `written` are always written, and the other slots only sometimes.
        """
        before = {s: w for s, w in self.unread.items() if all(a.unread.get(s) == w for a in arms)}
        after = {s: w for arm in arms for s, w in arm.unread.items() if self.unread.get(s) != w}
        self.unread = {**before, **after}
        self.maybe = self.maybe.union(*(arm.maybe | arm.written for arm in arms))
        self.written.update(written)

    def problem(self, text: str) -> None:
        """Add a problem, unless it was added before."""
        if text not in self.problems:
            self.problems.append(text)

    def read(self, label: str, slot: str) -> None:
        """Check that earlier steps always write a slot, and mark the slot as read."""
        self.unread.pop(slot, None)
        if slot not in self.written:
            writers = ", ".join(op.name for op in operators.all() if slot in op.returns) or "none"
            known = f"; operators that write it: {writers}" if slot in SLOTS else ""
            self.problem(f"{label} reads '{slot}', which no earlier step writes{known}.")
        self.written.add(slot)

    def read_maybe(self, label: str, slot: str) -> None:
        """Check that earlier steps write a slot at least sometimes, and mark the slot as read."""
        if slot in self.maybe:
            self.unread.pop(slot, None)
        else:
            self.read(label, slot)

    def need(self, label: str, resource: str) -> None:
        """Check that the method can use a resource."""
        if self.resources is not None and resource not in self.resources:
            known = ", ".join(sorted(self.resources))
            self.problem(f"{label} needs '{resource}', which no builder makes. Known: {known}.")

    def require(self, label: str, attributes: Iterable[str]) -> None:
        """Check that the graph has all of these attributes."""
        missing = sorted(set(attributes) - self.attributes) if self.attributes is not None else []
        if missing:
            have = ", ".join(sorted(self.attributes or ())) or "none"
            self.problem(f"{label} requires {', '.join(missing)}; the graph has {have}.")

    def write(self, label: str, always: Iterable[str], sometimes: Iterable[str] = ()) -> None:
        """Mark slots as written. Report a slot if no step has read its previous value."""
        for slot in (*always, *sometimes):
            if slot in self.unread:
                self.problem(
                    f"{label} overwrites '{slot}', but no step has read the value that "
                    f"{self.unread[slot]} wrote. Merge both values in a `branch`, name one "
                    f"with `as`, or drop the first value with `as: {slot}`."
                )
            self.unread[slot] = label
        self.written.update(always)
        self.maybe.update(sometimes)


_CORE = Path(__file__).resolve().parents[1]
_MOST_FRAMES = 8
_MODELS = frozenset({"llm", "llm_build", "llm_judge"})


@dataclass(frozen=True)
class Failure:
    """Failure of a step for one question. `where` is the operator's traceback. It is not stored."""

    step: str
    kind: str
    message: str
    where: tuple[str, ...] = field(default=(), compare=False)


def attempt(step: str, work: Callable[[], Any]) -> Any:
    """Return the result of `work`, or a Failure of the step. A UserError fails the whole run."""
    result: Any
    try:
        result = result_or_error(work)
    except RequestsWritten as waiting:
        result = waiting
    if not isinstance(result, Exception):
        return result
    frames = traceback.extract_tb(result.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_CORE)]
    texts = traceback.format_list(own[-_MOST_FRAMES:])  # the last calls of a recursion
    where = tuple("".join(texts).splitlines())
    return Failure(step, type(result).__name__, str(result) or repr(result), where)


Outcome = RetrievalState | Failure


@show_briefly
@dataclass(frozen=True)
class StepTrace:
    """Trace of a step for one question. `wrote` contains the written slots with their values."""

    step: str
    operator: str
    seconds: float
    calls: Usage
    replies: tuple[str, ...]
    wrote: Mapping[str, Any]


_Result = tuple[Any, float, Sequence[Meter]]
"""The result or failure of an operator for one question, the seconds it took, and its meters."""


@dataclass
class Execution:
    """State that the steps of a run share: resources, limits, and records of each question."""

    resources: Mapping[str, Any]
    workers: int = 1
    ledger: Ledger | None = None
    failure_limit: float = 1.0  # for each step, see `FailureGate`
    failure_after: int = 50
    traces: dict[str, list[StepTrace]] = field(default_factory=dict)
    fallbacks: dict[str, dict[str, None]] = field(default_factory=dict)
    gates: dict[str, FailureGate] = field(default_factory=dict)

    def add_fallback(self, state: RetrievalState, reason: str) -> None:
        """Record why a fallback was used for a question. A repeated reason is recorded once."""
        self.fallbacks.setdefault(state.question.id, {})[reason] = None

    def meter(self, need: str, step: str, question: str) -> ChatModel:
        """Return the model named `need`, which records its calls and failures under `step`."""
        gate = FailureGate(step, self.failure_limit, self.failure_after)
        log = self.ledger.logger(step.partition(".")[0], step, question) if self.ledger else None
        model: ChatModel = self.resources[need]
        return model.attached(log=log, gate=self.gates.setdefault(step, gate))


@dataclass(frozen=True)
class Step:
    """Step of a pipeline: an operator, or a combinator, i.e. a step that contains lists of steps.

    In a method file, the first field of a combinator after `label` has the combinator's name. For
    example, `each: chunks` sets the field `slot` to `chunks`. Fields with `compare=False`, such as
    the label, do not affect results and are not part of the run key. By default, a step runs its
    lists of steps in order, each once. A step that repeats a list must override `max_calls`.
    """

    label: str = field(compare=False)
    """The path and the operator of the step, e.g. `retrieve.1 node.ppr`."""

    @property
    def parts(self) -> "list[Steps]":
        """The lists of steps that the step contains, in order."""
        values = [getattr(self, one.name) for one in fields(self)]
        lists = [list(v.values()) if isinstance(v, Mapping) else [v] for v in values]
        return [one for some in lists for one in some if _is_steps(one)]

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Run the step on the state of each question. Return the new states or the failures."""
        return run_steps(tuple(chain(*self.parts)), states, execution)

    def check(self, checker: Checker) -> None:
        """Report to the checker what slots the step reads and writes, and what it needs."""
        for step in chain(*self.parts):
            step.check(checker)

    def describe(self) -> dict[str, Any]:
        """Return the part of the run key for this step: fields, inner steps, code fingerprint."""
        every = self._change_lists(lambda steps: [one.describe() for one in steps])
        own = {one.name: every[one.name] for one in fields(self) if one.compare}
        return {"step": type(self).__name__, **own, "code": code(type(self))}

    def mapped(self, change: "Callable[[OperatorStep], OperatorStep]") -> "Step":
        """Return a copy of the step with `change` applied to every operator step in it."""
        lists = self._change_lists(lambda steps: tuple(one.mapped(change) for one in steps))
        return replace(self, **lists)

    def _change_lists(self, change: "Callable[[Steps], Any]") -> dict[str, Any]:
        def changed(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: changed(one) for name, one in value.items()}
            return change(value) if _is_steps(value) else value

        return {one.name: changed(getattr(self, one.name)) for one in fields(self)}

    def operators(self) -> "list[OperatorStep]":
        """Return the operator steps that the step contains, in order."""
        return [op for step in chain(*self.parts) for op in step.operators()]

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls for one question."""
        return sum(step.max_calls() for step in chain(*self.parts))


Steps = tuple[Step, ...]


def _is_steps(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, Step) for one in value)


@dataclass(frozen=True)
class OperatorStep(Step):
    """Step that runs an operator with validated settings.

    `use` maps parameters of the operator to named lists, which replace the slots of these
    parameters. An optional parameter that is not in `use` gets None. `list_name` is the name of the
    list that the step writes instead of the operator's main slot.
    """

    operator: Operator
    settings: Mapping[str, Any]
    use: Mapping[str, str] = field(default_factory=dict)
    list_name: str = ""

    @property
    def reads(self) -> list[tuple[Read, str]]:
        """Pairs of an input and its source, which is a slot or a named list."""
        sources = [(read, self._source(read)) for read in self.operator.reads]
        return [(read, source) for read, source in sources if source is not None]

    def writes(self, slot: str) -> str:
        """Return the slot or named list that stores the operator's output `slot`."""
        return self.list_name if self.list_name and slot == self.operator.main else slot

    def _source(self, read: Read) -> str | None:
        return self.use.get(read.parameter, None if read.optional else read.slot)

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Run the operator on the state of each question. Return the new states or the failures."""
        done = zip(states, self._compute(states, execution), strict=True)
        return [self._record(state, one, execution) for state, one in done]

    def _compute(self, states: Sequence[RetrievalState], execution: Execution) -> list[_Result]:
        """Run the operator. If it fails for all states together, run it on each state alone."""
        if self.operator.batched and len(states) > 1 and not _MODELS & {*self.operator.needs}:
            done = self._call(states, execution)
            if not isinstance(done[0][0], Failure):
                return done
        if "llm" not in self.operator.needs or execution.workers < 2 or len(states) < 2:
            return [self._call([state], execution)[0] for state in states]
        pool = ThreadPoolExecutor(execution.workers)
        try:
            return list(pool.map(lambda state: self._call([state], execution)[0], states))
        finally:
            pool.shutdown(cancel_futures=True)

    def _call(self, states: Sequence[RetrievalState], execution: Execution) -> list[_Result]:
        needs = {name: execution.resources[name] for name in self.operator.needs}
        models = sorted(_MODELS.intersection(needs))
        for name in models:
            needs[name] = execution.meter(name, self.label, states[0].question.id)
        began = time.perf_counter()

        def work() -> list[Any]:
            rows = [[self._value(state, read) for read in self.operator.reads] for state in states]
            return self.operator(rows, **needs, **self.settings)

        results = attempt(self.label, work)
        seconds = (time.perf_counter() - began) / len(states)
        each = [results] * len(states) if isinstance(results, Failure) else results
        return [(result, seconds, [needs[name].meter for name in models]) for result in each]

    def _value(self, state: RetrievalState, read: Read) -> Any:
        source = self._source(read)
        value = None if source is None else state.get(source)
        if value is None and not read.optional:
            raise LookupError(f"no step has written '{source}'")
        return value

    def _record(self, state: RetrievalState, done: _Result, execution: Execution) -> Outcome:
        wrote, seconds, meters = done
        if not isinstance(wrote, Failure):
            wrote = attempt(
                self.label, lambda: by_slot(self.operator, done[0], execution.resources)
            )
        shown = {} if isinstance(wrote, Failure) else wrote
        replies = (reply for meter in meters for reply in meter.replies)
        texts = tuple(one.text if isinstance(one, Completion) else str(one) for one in replies)
        calls = Usage.of(meters)
        trace = StepTrace(self.label, self.operator.name, seconds, calls, texts, shown)
        execution.traces.setdefault(state.question.id, []).append(trace)
        if isinstance(wrote, Failure):
            return wrote
        return state.write({self.writes(slot): value for slot, value in wrote.items()})

    def check(self, checker: Checker) -> None:
        """Check the inputs, resources, graph attributes and prompt variables of the operator."""
        sources: dict[str, str] = {}
        for read, source in self.reads:
            if source in sources:
                checker.problem(
                    f"{self.label} reads '{source}' twice, as '{sources[source]}' and as "
                    f"'{read.parameter}'. Give one of the two lists a name with `as`."
                )
            sources[source] = read.parameter
            checker.read(self.label, source)
        for need in self.operator.needs:
            checker.need(self.label, need)
        checker.require(self.label, self.operator.required(self.settings))
        for value in self.settings.values():
            if missing := sorted(getattr(value, "variables", frozenset()) - self.operator.supplies):
                checker.problem(
                    f"{self.label}: prompt '{value.name}' uses the variables {', '.join(missing)}, "
                    "which the operator does not supply. It supplies: "
                    f"{', '.join(sorted(self.operator.supplies)) or 'none'}."
                )
        if self.list_name == self.operator.main:
            checker.unread.pop(self.list_name, None)
        always, sometimes = self.operator.writes, self.operator.may_write
        checker.write(self.label, [*map(self.writes, always)], [*map(self.writes, sometimes)])

    def describe(self) -> dict[str, Any]:
        """Return this step's part of the run key: operator, code, settings and named lists."""
        prompts = {type(value) for value in self.settings.values() if hasattr(value, "digest")}
        settings = {n: getattr(value, "digest", value) for n, value in self.settings.items()}
        codes = [self.operator.code, *sorted(map(code, prompts))]
        named = {"use": dict(self.use), "as": self.list_name}
        return {"op": self.operator.name, "code": codes, "settings": settings, **named}

    def mapped(self, change: "Callable[[OperatorStep], OperatorStep]") -> "OperatorStep":
        """Return the step after `change` was applied to it."""
        return change(self)

    def operators(self) -> "list[OperatorStep]":
        """Return a list that contains only this step."""
        return [self]

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls of the operator for one question."""
        return self.operator.max_calls(self.settings)


def run_steps(steps: Steps, states: Sequence[Outcome], execution: Execution) -> list[Outcome]:
    """Run a list of steps on each state. If a step fails, the later steps skip the failed state."""
    outcomes: list[Outcome] = list(states)
    for step in steps:
        alive = {row: one for row, one in enumerate(outcomes) if isinstance(one, RetrievalState)}
        if not alive:
            break
        for row, outcome in zip(alive, step.run([*alive.values()], execution), strict=True):
            outcomes[row] = outcome
    return outcomes
