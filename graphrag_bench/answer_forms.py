"""The forms of an answer: what a prompt asks for, how it ends, and how long the answer may be.

`answer_forms.yaml` has them. A form is chosen for each question, by the card of its data set
or by the run setting `answers`, the same for every method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

FormName = Literal["short", "list", "choice", "paragraph", "summary"]
OPEN: tuple[FormName, ...] = ("list", "paragraph", "summary")
"""The forms of answers that are as long as the question makes them."""
FORMS = Path(__file__).with_name("answer_forms.yaml")
REFUSAL = "unanswerable"
"""What every `licence` tells a reader to write where the context does not hold the answer."""


@dataclass(frozen=True)
class AnswerForm:
    """One form: `manner` ends "Answer the question ...", `cue` the prompt; tokens of the answer.

    `licence` is the clause on what the context does not hold; `prose` answers are judged as texts.
    """

    name: FormName
    manner: str
    cue: str
    licence: str
    max_tokens: int
    prose: bool = False


def answer_form(name: FormName, open_tokens: int | None = None) -> AnswerForm:
    """The form of that name, an open one with as many tokens as the run gives it, if it does.

    Raises KeyError for a name that is none.
    """
    form = _forms()[name]
    return replace(form, max_tokens=open_tokens) if open_tokens and name in OPEN else form


@cache
def _forms() -> dict[str, AnswerForm]:
    import yaml

    read = yaml.safe_load(FORMS.read_text(encoding="utf-8"))
    return {name: AnswerForm(name, **fields) for name, fields in read.items()}


def form_of_part(whole: FormName, *, abstract: bool) -> FormName:
    """The form of a sub-question's answer, where the question itself wants the form `whole`.

    An abstract sub-question wants a paragraph at least. Of a question with options the
    sub-questions have none, so that they want a few words; those of a summary want a paragraph.
    """
    if abstract or whole == "summary":
        return "paragraph"
    return "short" if whole == "choice" else whole
