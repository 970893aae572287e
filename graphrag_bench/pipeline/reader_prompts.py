"""Select the prompt that asks for the answer.

A licence is a clause that tells the model what to reply if the context does not contain the answer.
Under the regime `house`, the licence is added to prompts that have the variable `licence`, and the
stage `generate` has a common prompt for the prose answers of all methods. Under `published`, the
method's own prompt asks for all answers, and no licence is added. Prompts that do not ask for an
answer are the same under both regimes.
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
"""Description of the answering prompt under each regime, for `plan`."""


@dataclass(frozen=True)
class ReaderPrompt(Prompt):
    """Answering prompt of a method. `prose` is the name of a separate prompt for prose answers.

    If `licensed` is False, no licence is added.
    """

    prose: str = ""
    licensed: bool = True

    @property
    def files(self) -> tuple[Prompt, ...]:
        """The method's own prompt, and the prompt for prose answers if there is one."""
        names = [self.name, *([self.prose] if self.prose else [])]
        return tuple(Prompt(name, self.folder) for name in names)

    @property
    def digest(self) -> str:
        """The fingerprint of the templates and of `licensed`."""
        return digest([file.text for file in self.files], self.licensed)

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables of all templates."""
        return frozenset().union(*(file.variables for file in self.files))

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages of the prompt for the answer form `values["form"]`."""
        if self.prose and answer_form(values["form"]).prose:
            return self.files[-1].render(values)
        return super().render(values if self.licensed else {**values, LICENCE: ""})


def reader_prompt(prompt: Prompt, operator: Operator, stage: str, regime: Regime) -> Prompt:
    """Return the answering prompt of an operator under a regime.

    The common prompt is used only in the stage `generate`, and only if the operator supplies its
    variables.
    """
    if regime == "published":
        return ReaderPrompt(prompt.name, prompt.folder, licensed=False)
    if stage != "generate" or not COMMON.variables <= operator.supplies:
        return prompt
    return ReaderPrompt(prompt.name, prompt.folder, prose=COMMON.name)


def common_forms(regime: Regime, forms: Iterable[FormName]) -> list[FormName]:
    """Return the answer forms for which a regime uses the common prompt."""
    return [form for form in forms if regime == "house" and answer_form(form).prose]


def own_answers(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the operators that do not use the common prompt when they ask for an answer."""
    names: dict[str, None] = {}
    for op, files in _answering(steps):
        if COMMON.name not in {file.name for file in files}:
            names[f"{op.operator.name} ({op.label.partition('.')[0]})"] = None
    return list(names)


def prompts_without_licence(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the prompts of the stage `generate` that do not use the variable `licence`."""
    last = [files for op, files in _answering(steps) if op.label.startswith("generate.")]
    return sorted({one.name for files in last for one in files if LICENCE not in one.variables})


def _answering(steps: Iterable[OperatorStep]) -> Iterator[tuple[OperatorStep, Sequence[Prompt]]]:
    for op in steps:
        if "answer" in op.operator.returns:
            prompt = op.settings.get("prompt")
            yield op, prompt.files if isinstance(prompt, Prompt) else ()
