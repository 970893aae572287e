"""Select the prompt that asks for the answer, depending on the setting `regime`.

A licence is a clause that tells the model what to reply if the context does not contain the answer.
If `regime` is `house`, the licence is added to prompts with the variable `licence`. All methods
then use the same prompt for prose answers in the stage `generate`. If `regime` is `published`, no
licence is added, and each method uses only its own prompt.
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
"""Description of the answering prompt under each regime, for the command `plan`."""


@dataclass(frozen=True)
class ReaderPrompt(Prompt):
    """Answering prompt of a method. `prose` names the prompt that replaces it for prose answers."""

    prose: str = ""
    licensed: bool = True  # if false, the prompt has no licence

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
        """Return the messages of the prompt for the answer form `values["form"]`, e.g. prose."""
        if self.prose and answer_form(values["form"]).prose:
            return self.files[-1].render(values)
        return super().render(values if self.licensed else {**values, LICENCE: ""})


def reader_prompt(prompt: Prompt, operator: Operator, stage: str, regime: Regime) -> Prompt:
    """Return the prompt with which an operator of a stage asks for the answer in a regime."""
    if regime == "published":
        return ReaderPrompt(prompt.name, prompt.folder, licensed=False)
    if stage != "generate" or not COMMON.variables <= operator.supplies:
        return prompt
    return ReaderPrompt(prompt.name, prompt.folder, prose=COMMON.name)


def common_forms(regime: Regime, forms: Iterable[FormName]) -> list[FormName]:
    """Return the answer forms for which all methods use the common prompt under a regime."""
    return [form for form in forms if regime == "house" and answer_form(form).prose]


def own_answers(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the operators that ask for an answer without using the common prompt."""
    own = (op for op, files in _answering(steps) if COMMON.name not in {one.name for one in files})
    return list(dict.fromkeys(f"{op.operator.name} ({op.label.partition('.')[0]})" for op in own))


def prompts_without_licence(steps: Iterable[OperatorStep]) -> list[str]:
    """Return the prompts of the stage `generate` that do not use the variable `licence`."""
    last = [files for op, files in _answering(steps) if op.label.startswith("generate.")]
    return sorted({one.name for files in last for one in files if LICENCE not in one.variables})


def _answering(steps: Iterable[OperatorStep]) -> Iterator[tuple[OperatorStep, Sequence[Prompt]]]:
    for op in steps:
        if "answer" in op.operator.returns:
            prompt = op.settings.get("prompt")
            yield op, prompt.files if isinstance(prompt, Prompt) else ()
