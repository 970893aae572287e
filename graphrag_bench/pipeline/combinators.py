"""Combinators: steps that contain lists of other steps, e.g. to branch or to repeat.

A combinator is a frozen dataclass and a subclass of `Step`. In a method file it is written as a
mapping whose keys are the names of the fields. Plug-ins can register their own combinators.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import is_
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, PositiveInt

from graphrag_bench import question_plan as plans
from graphrag_bench.contract import Setting
from graphrag_bench.errors import did_you_mean
from graphrag_bench.pipeline.merge import MERGEABLE, SPLITTABLE, Rule, empty, merged_state, split
from graphrag_bench.pipeline.steps import (
    Checker,
    Execution,
    Failure,
    Outcome,
    Step,
    Steps,
    run_steps,
)
from graphrag_bench.prompts import sub_question_form
from graphrag_bench.registry import signature_of
from graphrag_bench.values import Answer, RetrievalState

Item = dict[str, Any]
"""A step as it is written in a method file."""
Arms = Mapping[str, Steps]
"""Lists of steps, each with a name."""
K = TypeVar("K", bound=type[Step])
registered: dict[str, type[Step]] = {}
"""Classes of the registered combinators by their keys, e.g. `branch`."""


def combinator(key: str) -> Callable[[K], K]:
    """Register a class as combinator `key`. Raises ValueError if another module has this key."""

    def register(kind: K) -> K:
        known = registered.get(key, kind)
        if known.__module__ != kind.__module__:
            raise ValueError(f"combinator '{key}' is already registered by {known.__module__}")
        registered[key] = kind
        return kind

    return register


def combinator_key(item: Mapping[str, Any]) -> str | None:
    """Return the combinator in a step of a method file, e.g. `branch`, or None for an operator."""
    return next((key for key in sorted(registered) if key in item), None)


def inner_lists(item: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """Yield each list of steps inside a combinator of a method file, with the list's path."""
    for one in combinator_settings(combinator_key(item) or "").values():
        value, inside = item.get(one.name), inner_path(path, one.name, item)
        if one.annotation == Steps:
            yield value or [], inside
        elif one.annotation == Arms:
            yield from ((steps, f"{inside}.{name}") for name, steps in (value or {}).items())


def combinator_settings(form: str) -> dict[str, Setting]:
    """Map fields of a combinator to settings. The first setting is named like the combinator."""
    _, *own = signature_of(registered[form]).parameters.values()
    return {
        one.name: Setting(one.name if place else form, one.annotation, one.default)
        for place, one in enumerate(own)
    }


def inner_path(path: str, key: str, item: Mapping[str, Any]) -> str:
    """Return the path of the field `key` of a combinator at `path` in a method file."""
    return path if key in ("steps", combinator_key(item)) else f"{path}.{key}"


@combinator("branch")
@dataclass(frozen=True)
class Branch(Step):
    """Step that runs lists of steps, called arms, on copies of the state and merges the results.

    If `only` is given, only the results in these slots are kept.
    """

    arms: Arms
    merge: Rule = "interleave"
    only: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Run each arm on the states, and merge the results of the arms."""
        arms = [run_steps(steps, states, execution) for steps in self.parts]
        return [self._merged(*outcomes) for outcomes in zip(states, *arms, strict=True)]

    def _merged(self, state: RetrievalState, *outcomes: Outcome) -> Outcome:
        merged = merged_state(state, outcomes, self.merge)
        if isinstance(merged, Failure) or self.only is None:
            return merged
        return state.write({slot: merged.get(slot) for slot in self.only})

    def check(self, checker: Checker) -> None:
        """Check every arm. Report slots that several arms write but that cannot be merged."""
        start = replace(checker.after(()), unread={}) if self.only else checker
        arms = [start.after(steps) for steps in self.parts]
        wrote = [start.unread_of(arm) for arm in arms]
        every = set().union(*wrote)
        for slot in sorted(every.intersection(self.only or every)):
            if sum(slot in slots for slots in wrote) > 1 and slot not in MERGEABLE:
                checker.problem(f"{self.label}: several arms write '{slot}'; it cannot be merged.")
        if not self.only:
            return checker.join(arms, {slot for arm in arms for slot in arm.written})
        operators = self.operators()
        written = {op.writes(slot) for op in operators for slot in op.operator.returns}
        for slot in sorted(set(self.only) - written):
            checker.problem(f"{self.label}: no inner step writes '{slot}', which `only` names.")
        used = {*self.only, *(source for op in operators for _, source in op.reads)}
        checker.unread = {slot: w for slot, w in checker.unread.items() if slot not in used}
        for arm in arms:
            checker.unread |= {slot: w for slot, w in arm.unread.items() if slot in self.only}
            checker.written |= arm.written.intersection(self.only)
            checker.maybe |= arm.maybe.intersection(self.only)


@combinator("each")
@dataclass(frozen=True)
class Each(Step):
    """Step that runs its inner steps for each item of a slot (e.g. a node) and merges results."""

    slot: str
    steps: Steps
    merge: Rule = "interleave"
    at_most: PositiveInt = 64

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Run the steps on each of the first `at_most` items, and return the merged results.

        Without items, no step runs, and the unset output slots of the steps get empty values.
        """
        values = [state.get(self.slot) for state in states]
        items = [[] if value is None else split(value)[: self.at_most] for value in values]
        pairs = list(zip(states, items, strict=True))
        block = [state.write({self.slot: item}) for state, own in pairs for item in own]
        outcomes = iter(run_steps(self.steps, block, execution))
        return [self._merged(state, own, [next(outcomes) for _ in own]) for state, own in pairs]

    def _merged(self, state: RetrievalState, items: list[Any], outcomes: list[Outcome]) -> Outcome:
        if not items:
            writes = [(op, slot) for op in self.operators() for slot in op.operator.writes]
            nothing = {op.writes(slot): empty(slot) for op, slot in writes}
            return state.write({name: v for name, v in nothing.items() if state.get(name) is None})
        merged = merged_state(state, outcomes, self.merge)
        ends = [one.get(self.slot) for one in outcomes if isinstance(one, RetrievalState)]
        if isinstance(merged, Failure) or not all(map(is_, ends, items)):
            return merged
        return merged.write({self.slot: state.get(self.slot)})  # no step has written to the slot

    def check(self, checker: Checker) -> None:
        """Check the inner steps, that the slot has items, and that results can be merged."""
        checker.read(self.label, self.slot)
        if self.slot not in SPLITTABLE:
            known = ", ".join(sorted(SPLITTABLE))
            checker.problem(f"{self.label}: '{self.slot}' has no items. Slots with items: {known}.")
        inner = checker.after(self.steps)
        for slot in sorted(checker.unread_of(inner)):
            if slot not in MERGEABLE:
                checker.problem(f"{self.label}: values of '{slot}' cannot be merged.")
        # without items, a slot whose type has no empty value stays unset
        never = {slot for slot in inner.written if slot in MERGEABLE and empty(slot) is None}
        checker.join([inner], inner.written - never)

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls for `at_most` items of one question."""
        return self.at_most * super().max_calls()


@combinator("repeat")
@dataclass(frozen=True)
class Repeat(Step):
    """Step that runs its inner steps until the slot `until` is true, but at most `times` times.

    `keep=last` keeps the ranked rows of the last round. `union` keeps the rows of all rounds in
    order of first appearance, and `max` sorts them by their best scores.
    """

    times: PositiveInt
    steps: Steps
    until: str | None = None
    keep: Literal["last", "union", "max"] = "last"

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return each state after its last round. A round runs all unfinished states together."""
        outcomes: list[Outcome] = list(states)
        rounds: list[list[Outcome]] = [[] for _ in states]
        active = list(range(len(states)))
        done: set[int] = set()
        for _ in range(self.times):
            block = [out for row in active if isinstance(out := outcomes[row], RetrievalState)]
            for row, outcome in zip(active, run_steps(self.steps, block, execution), strict=True):
                outcomes[row] = outcome
                rounds[row].append(outcome)
                if isinstance(outcome, Failure) or (self.until and outcome.get(self.until)):
                    done.add(row)
            active = [row for row in active if row not in done]
        return list(map(self._merged, states, outcomes, rounds))

    def _merged(self, start: RetrievalState, outcome: Outcome, rounds: list[Outcome]) -> Outcome:
        merged = outcome if self.keep == "last" else merged_state(start, rounds, self.keep)
        if isinstance(merged, Failure) or isinstance(outcome, Failure):
            return merged
        last = {slot: outcome.get(slot) for slot in (*outcome, "question") if slot not in MERGEABLE}
        return merged.write(last)

    def check(self, checker: Checker) -> None:
        """Check the inner steps, and that one of them may write the slot `until`."""
        super().check(checker)
        written = {op.writes(slot) for op in self.operators() for slot in op.operator.returns}
        if self.until in written:
            checker.unread.pop(self.until, None)
        elif self.until:
            checker.read_maybe(self.label, self.until)
        inside = {op.label for op in self.operators()}
        checker.unread = {s: w for s, w in checker.unread.items() if w not in inside}

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls in all rounds."""
        return self.times * super().max_calls()


@combinator("switch")
@dataclass(frozen=True)
class Switch(Step):
    """Step that runs one of several lists of steps (cases), selected by the value of a slot.

    If the slot has no value or a value of length 0, the case `empty` is selected. Any other value
    selects the case of the same name, or else the case `some`. If the selected case does not exist,
    the case `otherwise` runs. If there is no `otherwise`, no step runs. `fallback` maps cases to
    reasons, which are recorded as fallbacks if the cases run.
    """

    slot: str
    cases: Arms
    fallback: Mapping[str, Annotated[str, Field(min_length=1)]] = field(
        default_factory=dict, compare=False
    )

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return each state after the steps of its case. States with the same case run together."""
        names = []
        for state in states:
            value = state.get(self.slot)
            nothing = value is None or (hasattr(value, "__len__") and not len(value))
            ways = ("empty",) if nothing else (str(value), "some")
            name = next((way for way in ways if way in self.cases), "otherwise")
            names.append(name)
            if name in self.fallback:
                execution.add_fallback(state, self.fallback[name])
        outcomes: list[Outcome] = list(states)
        for name, steps in self.cases.items():
            rows = [row for row, case in enumerate(names) if case == name]
            ends = run_steps(steps, [states[row] for row in rows], execution)
            for row, outcome in zip(rows, ends, strict=True):
                outcomes[row] = outcome
        return outcomes

    def check(self, checker: Checker) -> None:
        """Check every case. A slot counts as written only if all cases write it."""
        for name in self.fallback:
            if name not in self.cases:
                hint = did_you_mean(name, list(self.cases))
                checker.problem(f"{self.label} fallback: there is no case '{name}'. {hint}")
        checker.read_maybe(self.label, self.slot)
        arms = []
        for name, steps in self.cases.items():
            empty_elsewhere = name == "otherwise" and "empty" in self.cases
            filled = name not in ("empty", "otherwise") or empty_elsewhere
            arms.append(checker.after(steps, {self.slot} if filled else set()))
        total = "otherwise" in self.cases or {"empty", "some"} <= set(self.cases)
        ways = arms if total else [*arms, checker.after(())]
        checker.join(arms, set.intersection(*(arm.written for arm in ways)))

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls in the most expensive case."""
        return max((sum(s.max_calls() for s in steps) for steps in self.parts), default=0)


@combinator("resolve")
@dataclass(frozen=True)
class Resolve(Step):
    """Step that runs its inner steps for the sub-questions of a plan, and then for the question.

    Sub-questions run in dependency order. Independent sub-questions run together. Each sub-question
    runs on a copy of the state, in which `question` is the sub-question, `question_kind` is its
    kind, and `dependencies` are the answered sub-questions that it depends on. The steps of
    `answer` run only for sub-questions, because later steps answer the final question. Ranked rows
    are merged in the order of the sub-questions, with the final question last.
    Source: PankRAG (2025), sections 2.2 and 2.3.
    """

    slot: str
    steps: Steps
    answer: Steps
    merge: Rule = "interleave"
    at_most: PositiveInt = 12
    prune_unused: bool = False

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return each state with the merged results of the first `at_most` sub-questions."""
        runs = []
        for state in states:
            plan: plans.Plan = state.get(self.slot)
            if plan.fallback:
                execution.add_fallback(state, plan.fallback)
            used = plan.needed() if self.prune_unused else plan
            ids = [one.id for layer in used.layers() for one in layer][: self.at_most]
            if len(ids) < len(used):
                first = [one for one in used.sub_questions if one.id in ids]
                used = plans.checked_plan(first, used.final)
            runs.append(_PlanRun(state, used))
        finals = tuple([plan_run.plan.final] for plan_run in runs)
        layers = zip_longest(*(plan_run.plan.layers() for plan_run in runs), fillvalue=())
        for layer in (*layers, finals):
            steps = self.steps if layer is finals else (*self.steps, *self.answer)
            alive = (pair for pair in zip(runs, layer, strict=True) if pair[0].failure is None)
            jobs = [(plan_run, one) for plan_run, some in alive for one in some]
            outcomes = run_steps(steps, [run.state_for(one) for run, one in jobs], execution)
            for (plan_run, one), outcome in zip(jobs, outcomes, strict=True):
                if isinstance(outcome, Failure):
                    plan_run.failure = plan_run.failure or outcome
                else:
                    plan_run.states[one.id] = outcome
        return [self._merged(plan_run) for plan_run in runs]

    def _merged(self, plan_run: "_PlanRun") -> Outcome:
        start, outcomes = plan_run.start, list(plan_run.states.values())
        merged = plan_run.failure or merged_state(start, outcomes, self.merge)
        if isinstance(merged, Failure):
            return merged
        final = outcomes[-1]
        last = {slot: final.get(slot) for slot in (*final, "question") if slot not in MERGEABLE}
        return start.write({**merged.slots, **last, "answer": None})

    def check(self, checker: Checker) -> None:
        """Check the inner steps, that a plan is written, and that `answer` writes an answer."""
        checker.read(self.label, self.slot)
        inner = checker.after(self.steps, ("dependencies", "question_kind"))
        if "answer" not in inner.after(self.answer).written:
            checker.problem(f"{self.label}: no step in `answer` writes 'answer'.")
        checker.join([inner], inner.written)

    def max_calls(self) -> int:
        """Return the maximum number of LLM calls for `at_most` sub-questions and the question."""
        own, answer = (sum(step.max_calls() for step in s) for s in (self.steps, self.answer))
        return self.at_most * (own + answer) + own


@dataclass
class _PlanRun:
    start: RetrievalState
    plan: plans.Plan
    states: dict[str, RetrievalState] = field(default_factory=dict)
    failure: Failure | None = None

    def state_for(self, one: plans.SubQuestion) -> RetrievalState:
        texts = {other.id: other.text for other in self.plan.sub_questions}
        answers: list[Answer] = [self.states[name].get("answer") for name in one.dependencies]
        asked = tuple(texts[name] for name in one.dependencies)
        answered = tuple(answer.text for answer in answers)
        dependencies = plans.Dependencies(one.dependencies, asked, answered)
        kind = plans.SubQuestionKind(one.kind, one is self.plan.final)
        form = self.start.question.form
        if not kind.final:
            form = sub_question_form(form, abstract=one.kind == "abstract")
        state = self.start.write({"dependencies": dependencies, "question_kind": kind})
        return replace(state, question=replace(state.question, text=one.text, form=form))
