"""The combinator `resolve`: a plan of sub-questions, answered in dependency order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import PositiveInt

from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Nested, combinator
from graphrag_bench.pipeline.merge import MERGEABLE, Rule, merged_slots
from graphrag_bench.pipeline.steps import (
    Execution,
    Failure,
    Outcome,
    Steps,
    checker_after,
    run_steps,
)
from graphrag_bench.prompts import sub_question_form
from graphrag_bench.question_plan import (
    Dependencies,
    Plan,
    SubQuestion,
    SubQuestionKind,
    checked_plan,
)
from graphrag_bench.values import Answer, RetrievalState

INPUTS = ("dependencies", "question_kind")
"""Slots that the inner steps can read in addition to the sub-question."""


@combinator("resolve")
@dataclass(frozen=True)
class Resolve(Nested):
    """The inner steps for each sub-question of a plan, then for the final question.

    Each sub-question runs on a copy of the state: `question` is the sub-question with its form of
    answer, `dependencies` has the answered sub-questions it depends on, `question_kind` its kind.
    Independent sub-questions run as one block. `answer` answers the sub-questions only: the final
    question's slots are left for later steps. Ranked rows of all sub-questions are merged; rows of
    the final question come last.
    Source: PankRAG (2025), sections 2.2 and 2.3; architecture of this project.
    """

    slot: str
    steps: Steps
    answer: Steps
    merge: Rule = "interleave"
    at_most: PositiveInt = 12
    prune_unused: bool = False

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return the states with the final question's slots.

        A failed sub-question fails the question. Only the first `at_most` sub-questions in
        dependency order are used.
        """
        runs = [_PlanRun(state, self._limited(state.get(self.slot))) for state in states]
        for state in states:
            if reason := state.get(self.slot).fallback:
                execution.add_fallback(state, reason)
        for number in range(max((len(plan_run.layers) for plan_run in runs), default=0)):
            layers = [plan_run.layer(number) for plan_run in runs]
            self._resolve((*self.steps, *self.answer), layers, runs, execution)
        self._resolve(self.steps, [[plan_run.plan.final] for plan_run in runs], runs, execution)
        return [self._merged(plan_run) for plan_run in runs]

    def _limited(self, plan: Plan) -> Plan:
        used = plan.needed() if self.prune_unused else plan
        if len(used) <= self.at_most:
            return used
        order = [one.id for layer in used.layers() for one in layer]
        ids = set(order[: self.at_most])
        return checked_plan([o for o in used.sub_questions if o.id in ids], used.final)

    def _resolve(
        self,
        steps: Steps,
        layers: Sequence[Sequence[SubQuestion]],
        runs: "Sequence[_PlanRun]",
        execution: Execution,
    ) -> None:
        jobs = [
            (plan_run, one)
            for plan_run, layer in zip(runs, layers, strict=True)
            if plan_run.failure is None
            for one in layer
        ]
        block = [plan_run.state_for(one) for plan_run, one in jobs]
        for (plan_run, one), outcome in zip(jobs, run_steps(steps, block, execution), strict=True):
            plan_run.keep(one, outcome)

    def _merged(self, plan_run: "_PlanRun") -> Outcome:
        if plan_run.failure is not None:
            return plan_run.failure
        outcomes = list(plan_run.states.values())
        new = merged_slots(plan_run.start, outcomes, self.merge)
        final = outcomes[-1]
        last = {s: v for s in new if s not in MERGEABLE and (v := final.get(s)) is not None}
        written = {s: v for s, v in {**new, **last}.items() if s != "answer"}
        return plan_run.start.write({**written, "question": final.question})

    def check(self, checker: Checker) -> None:
        """Check that a plan is written, and that `answer` writes an answer."""
        checker.read(self.label, self.slot)
        inner = checker_after(self.steps, checker, INPUTS)
        if "answer" not in checker_after(self.answer, inner).written:
            checker.problem(f"{self.label}: no step of its `answer` writes 'answer'.")
        checker.join([inner])
        checker.written |= inner.written

    def max_calls(self) -> int:
        """Return the calls of `at_most` sub-questions and of the final question."""
        own, answer = (sum(step.max_calls() for step in s) for s in (self.steps, self.answer))
        return self.at_most * (own + answer) + own


class _PlanRun:
    def __init__(self, state: RetrievalState, plan: Plan) -> None:
        self.start = state
        self.plan = plan
        self.layers = plan.layers()
        self.states: dict[str, RetrievalState] = {}
        self.failure: Failure | None = None

    def layer(self, number: int) -> list[SubQuestion]:
        return self.layers[number] if number < len(self.layers) else []

    def state_for(self, one: SubQuestion) -> RetrievalState:
        by_id = {other.id: other for other in self.plan.sub_questions}
        dependencies = Dependencies(
            one.dependencies,
            tuple(by_id[name].text for name in one.dependencies),
            tuple(self._answer(name) for name in one.dependencies),
        )
        question = replace(self.start.question, text=one.text)
        question_kind = SubQuestionKind(one.kind, final=one is self.plan.final)
        if not question_kind.final:
            form = sub_question_form(question.form, abstract=one.kind == "abstract")
            question = replace(question, form=form)
        state = self.start.write({"dependencies": dependencies, "question_kind": question_kind})
        return replace(state, question=question)

    def _answer(self, name: str) -> str:
        answer = self.states[name].get("answer")
        assert isinstance(answer, Answer)
        return answer.text

    def keep(self, one: SubQuestion, outcome: Outcome) -> None:
        if isinstance(outcome, Failure):
            self.failure = self.failure or outcome
        else:
            self.states[one.id] = outcome
