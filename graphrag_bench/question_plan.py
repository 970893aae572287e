"""Plans of sub-questions with dependencies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Literal

from graphrag_bench.prompts import answer_form
from graphrag_bench.values import Question, value

QuestionKind = Literal["specific", "abstract"]
FINAL = "final"


def kind_of(question: Question) -> QuestionKind:
    """Return the kind of a question. By default, only questions with prose answers are abstract."""
    prose = answer_form(question.form).prose
    return "abstract" if (prose if question.abstract is None else question.abstract) else "specific"


@dataclass(frozen=True)
class SubQuestion:
    """A sub-question. `dependencies` are the ids of sub-questions whose answers are needed."""

    id: str
    text: str
    kind: QuestionKind = "specific"
    dependencies: tuple[str, ...] = ()


@value("plan")
@dataclass(frozen=True)
class Plan:
    """Sub-questions in the order of the model's reply, and the final question.

    Dependencies have no cycles. `fixes` lists the corrections of the reply. If the plan does not
    come from the model, `fallback` is the reason.
    """

    sub_questions: tuple[SubQuestion, ...]
    final: SubQuestion
    fixes: tuple[str, ...] = ()
    fallback: str = ""

    def __len__(self) -> int:
        return len(self.sub_questions)

    def layers(self) -> list[list[SubQuestion]]:
        """Return the sub-questions in layers. A layer depends only on earlier layers."""
        sorter = TopologicalSorter({one.id: one.dependencies for one in self.sub_questions})
        sorter.prepare()
        layers = []
        while ready := sorter.get_ready():
            sorter.done(*ready)
            layers.append([one for one in self.sub_questions if one.id in ready])
        return layers

    def needed(self) -> "Plan":
        """Return the plan with only the sub-questions that the final question depends on."""
        needed = set(self.final.dependencies)
        for one in [one for layer in reversed(self.layers()) for one in layer]:
            needed |= set(one.dependencies) if one.id in needed else set()
        return replace(self, sub_questions=tuple(o for o in self.sub_questions if o.id in needed))


@value("dependencies")
@dataclass(frozen=True)
class Dependencies:
    """The sub-questions that the current question depends on: their ids, texts and answers."""

    ids: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The (sub-question, answer) pairs, in order."""
        return tuple(zip(self.questions, self.answers, strict=True))


@value("question_kind")
@dataclass(frozen=True)
class SubQuestionKind:
    """Kind of the current question, and whether the question is final. `switch` reads the kind."""

    kind: QuestionKind
    final: bool = False

    def __str__(self) -> str:
        return self.kind


def checked_plan(
    sub_questions: Sequence[SubQuestion], final: SubQuestion, fixes: Sequence[str] = ()
) -> Plan:
    """Return a plan from which invalid, duplicate and circular dependencies are removed.

    In a cycle, the dependency on the last sub-question (in the given order) is removed. A final
    question without dependencies gets a dependency on each sub-question that no other sub-question
    depends on.
    Source: methods/pankrag/README.md, rules 4, 6 and 8 of the plan normalisation.
    """
    notes = list(fixes)
    position = {one.id: row for row, one in enumerate(sub_questions)}
    needs: dict[str, tuple[str, ...]] = {}
    for one in (*sub_questions, replace(final, id=FINAL)):
        known = {name: name in position and name != one.id for name in one.dependencies}
        for name in (name for name, valid in known.items() if not valid):
            fault = "itself" if name == one.id else f"{name}, which is not there"
            notes.append(f"{one.id} depends on {fault}")
        needs[one.id] = tuple(name for name, valid in known.items() if valid)
    while circle := _circle(needs):
        target, source = max(pairwise(circle), key=lambda edge: [position[name] for name in edge])
        needs[source] = tuple(name for name in needs[source] if name != target)
        notes.append(f"{source} and {target} wait for each other: {source} no longer does")
    used = {name for one in sub_questions for name in needs[one.id]}
    closing = needs[FINAL] or tuple(one.id for one in sub_questions if one.id not in used)
    asked = tuple(replace(one, dependencies=needs[one.id]) for one in sub_questions)
    return Plan(asked, replace(final, id=FINAL, dependencies=closing), tuple(notes))


def _circle(needs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return a cycle of ids (a, b, ..., a), where b depends on a, or () if there is no cycle."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return ()
