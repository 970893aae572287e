"""Which prompt answers under a regime, and what it says of what the context does not hold.

In the house regime it is the method's own prompt with the `licence` of the form of answer, and the
common prompt for prose; as published the method's own prompt with its source's clause, or none. It
is that of the steps of `generate` that answer. What the search asks a model for on its way stays
the method's own, answers included.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.contract import Operator
from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import FormName, Message, Prompt, Regime, answer_form

COMMON = Prompt("graphrag_bench.pipeline:prompts/common.j2")
LICENCE = "licence"
READERS: Mapping[Regime, str] = {
    "house": "the method's own, with one clause for all methods",
    "published": "the method's own, with its source's clause or none",
}
"""What plan says of the reader prompt of each regime."""


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


def reader_prompt(prompt: Prompt, operator: Operator, stage: str, regime: Regime) -> Prompt:
    """Return the prompt of an operator that answers under a regime, in place of the method's own.

    The common prompt answers in `generate` alone, and where the operator gives prompts all
    variables of it.
    """
    if regime == "published":
        return ReaderPrompt(prompt.name, prompt.folder, licensed=False)
    if stage != "generate" or not COMMON.variables <= operator.supplies:
        return prompt
    return ReaderPrompt(prompt.name, prompt.folder, prose=COMMON.name)


def common_forms(regime: Regime, forms: Iterable[FormName]) -> list[FormName]:
    """Return those of the forms that the common prompt asks for under a regime."""
    return [form for form in forms if regime == "house" and answer_form(form).prose]


def own_answers(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the operators that answer with a method's own prompt, not with the common one.

    These are the answers that its search asks for, and those of steps that cannot take the prompt.
    """
    names: dict[str, None] = {}
    for op, files in _answering(steps):
        if COMMON.name not in {file.name for file in files}:
            names[f"{op.operator.name} ({op.label.partition('.')[0]})"] = None
    return list(names)


def prompts_without_licence(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the prompts of `generate` that cannot say what the context does not hold."""
    last = [files for op, files in _answering(steps) if op.label.startswith("generate.")]
    return sorted({one.name for files in last for one in files if LICENCE not in one.variables})


def _answering(steps: Iterable[OperatorStep]) -> Iterator[tuple[OperatorStep, Sequence[Prompt]]]:
    for op in steps:
        if "answer" in op.operator.returns:
            prompt = op.settings.get("prompt")
            yield op, prompt.files if isinstance(prompt, Prompt) else ()
