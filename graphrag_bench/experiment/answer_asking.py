"""The answer forms that a run asks for, and whether its method's prompts name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from graphrag_bench.answer_forms import FormName, answer_form, form_of_part
from graphrag_bench.llm.windows import LEAST
from graphrag_bench.pipeline.build import Pipeline
from graphrag_bench.pipeline.combinators.resolve import Resolve
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.values import Question

_TOLD = frozenset({"form", "manner", "cue", "licence"})
"""The variables that tell a prompt the form of the answer."""


def forms_asked(questions: Sequence[Question]) -> dict[FormName, int]:
    """How many of the questions want each form of answer, the most frequent first."""
    counted = Counter(question.form for question in questions)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def form_lines(pipeline: Pipeline, questions: Sequence[Question]) -> Iterator[str]:
    """For each form that the questions want: how many do, the words, and the most tokens."""
    for name, n in forms_asked(questions).items():
        form = answer_form(name, questions[0].open_tokens)
        limits = sorted({_limit(op, form.max_tokens) for op in _answering(pipeline)})
        most = ", ".join(f"{limit:,}" for limit in limits)
        most += " tokens" + (" or what the window leaves" if form.max_tokens > LEAST else "")
        yield f"answers: {name} ({n:,} of {len(questions):,} questions, at most {most})"
        yield f'  "{form.manner}"'


def forms_in_key(pipeline: Pipeline, questions: Sequence[Question]) -> list[Any]:
    """What the forms add to a run key: that of each question, and the content of those used.

    Nothing where no answer depends on them: where custom prompts name no form, and
    `max_tokens` is set.
    """
    if not any(_follows(op) for op in _answering(pipeline)):
        return []
    used: set[FormName] = {question.form for question in questions}
    if any(isinstance(step, Resolve) for step in pipeline.steps()):
        used |= {form_of_part(form, abstract=kind) for form in used for kind in (False, True)}
    contents = [vars(answer_form(name)) for name in sorted(used)]
    asked = [[question.id, question.form] for question in questions]
    own = {one for question in questions if (one := question.open_tokens)}
    return [asked, contents, *sorted(own)]


def _answering(pipeline: Pipeline) -> Iterator[OperatorStep]:
    for op in pipeline.operators():
        if "answer" in op.operator.returns and _TOLD & op.operator.supplies:
            yield op


def _follows(op: OperatorStep) -> bool:
    told = [value.variables for value in op.settings.values() if hasattr(value, "variables")]
    return op.settings.get("max_tokens") is None or any(_TOLD & names for names in told)


def _limit(op: OperatorStep, of_form: int) -> int:
    held = op.settings.get("max_tokens")
    return of_form if held is None else int(held)
