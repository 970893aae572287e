"""`reader_prompt`: which prompt answers, and what it says of what the context does not hold.

`auto` is the method's own prompt with the `licence` of the form of answer, and the common prompt
for prose; `own` the method's own prompt with its source's licence; `common` the common prompt.
It stands in the steps of `generate` that answer. What the search asks a model for on its way stays
the method's own, answers included.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphrag_bench.answer_forms import FormName, answer_form
from graphrag_bench.contract import Operator
from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.build import STAGES, Pipeline
from graphrag_bench.pipeline.edit import Item, operator_steps, stages
from graphrag_bench.prompts import Message, Prompt

COMMON = Prompt("methods:reader/prompts/common.j2")
LICENCE = "licence"
_PROMPT = "prompt"
READERS = {
    "auto": "the method's own, with one clause for all methods",
    "own": "the method's own, with its source's clause",
    "common": "one for all methods",
}
"""What plan says of each `reader_prompt`."""


@dataclass(frozen=True)
class ReaderPrompt(Prompt):
    """A method's answering prompt; `prose` is the name of the one for prose.

    Without `licensed` the clause is that of the prompt's source.
    """

    prose: str = ""
    licensed: bool = True

    @property
    def files(self) -> tuple[Prompt, ...]:
        """The method's own prompt, and the one for prose where there is one."""
        names = [self.name, *([self.prose] if self.prose else [])]
        return tuple(Prompt(name, self.folder) for name in names)

    @property
    def digest(self) -> str:
        """A fingerprint of the templates' texts and of whose the licence is."""
        return digest([file.text for file in self.files], self.licensed)

    @property
    def variables(self) -> frozenset[str]:
        """The names that the templates need."""
        return frozenset().union(*(file.variables for file in self.files))

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of the prompt for the form of answer, with the variables filled in."""
        if self.prose and answer_form(values["form"]).prose:
            return self.files[-1].render(values)
        return super().render(values if self.licensed else {**values, LICENCE: ""})


def with_reader(
    method: Mapping[str, Any], reader: Literal["auto", "own", "common"]
) -> dict[str, Any]:
    """The method with the prompts of `reader_prompt` in the steps that answer.

    The common prompt goes into steps of `generate` that have a setting `prompt` and give prompts
    the variables of the common one, `own` into all. Operators must be registered.
    """
    made = copy.deepcopy(dict(method))
    for stage, items in zip(STAGES, stages(made), strict=True):
        for operator, step in _answering(items):
            if _PROMPT not in operator.settings:
                continue
            name = str(step.get(_PROMPT, operator.settings[_PROMPT].default))
            if reader == "own":
                step[_PROMPT] = ReaderPrompt(name, licensed=False)
            elif stage == "generate" and _can(operator):
                auto = ReaderPrompt(name, prose=COMMON.name)
                step[_PROMPT] = COMMON.name if reader == "common" else auto
    return made


def common_forms(reader: str, forms: Iterable[FormName]) -> list[FormName]:
    """Those of the forms that the common prompt asks for under this `reader_prompt`."""
    return [
        form for form in forms if reader == "common" or reader == "auto" and answer_form(form).prose
    ]


def own_answers(method: Mapping[str, Any]) -> list[str]:
    """The operators of a method that answer with its own prompt where others take the common one.

    These are the answers that its search asks for, and those of steps that cannot take the prompt.
    """
    kept = [
        f"{operator.name} ({stage})"
        for stage, items in zip(STAGES, stages(method), strict=True)
        for operator, _ in _answering(items)
        if stage != "generate" or not _can(operator)
    ]
    return list(dict.fromkeys(kept))


def unlicensed(pipeline: Pipeline) -> list[str]:
    """The prompts of the last answers that cannot say what the context does not hold."""
    steps = [op for step in pipeline.generate for op in step.operators()]
    prompts = [op.settings.get(_PROMPT) for op in steps if "answer" in op.operator.returns]
    files = [file for one in prompts if isinstance(one, Prompt) for file in one.files]
    return sorted({file.name for file in files if LICENCE not in file.variables})


def _answering(items: list[Item]) -> Iterator[tuple[Operator, Item]]:
    return ((one, step) for one, step in operator_steps(items) if "answer" in one.returns)


def _can(operator: Operator) -> bool:
    return _PROMPT in operator.settings and COMMON.variables <= operator.supplies
