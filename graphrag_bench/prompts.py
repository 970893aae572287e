"""Prompts: Jinja2 files whose variables are known, checked and never silently missing.

A prompt file may hold blocks: `system`, a worked `example` with the assistant's `reply` to it, and
`user`; an empty one is no message. Without blocks it is one user message.
Corpus and model texts enter as values of variables and are never read as templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest

_ROLES = {"system": "system", "example": "user", "reply": "assistant", "user": "user"}
"""The role of the message that a block of a prompt file is, in their order."""


@dataclass(frozen=True)
class Message:
    """One message of a chat; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """A template named `package:path`, e.g. `methods:tog/prompts/enough.j2`.

    A file of the same name in `folder` takes its place. The file is read when first asked for.
    """

    name: str
    folder: str | None = None

    def __str__(self) -> str:
        return self.name

    @cached_property
    def text(self) -> str:
        """The template; raises UserError when the name has no package or no such file."""
        package, colon, path = self.name.partition(":")
        if not colon:
            raise UserError(f"A prompt is named 'package:path', not '{self.name}'.")
        if self.folder and (own := Path(self.folder) / Path(path).name).is_file():
            return own.read_text(encoding="utf-8")
        try:
            root = files(import_module(package))
        except ModuleNotFoundError:
            raise UserError(f"Prompt '{self.name}': there is no package '{package}'.") from None
        file = root.joinpath(path)
        if not file.is_file():
            near = root.joinpath(str(Path(path).parent))
            there = [item.name for item in near.iterdir()] if near.is_dir() else []
            hint = did_you_mean(Path(path).name, sorted(there))
            raise UserError(f"No prompt file '{self.name}'. {hint}")
        return file.read_text(encoding="utf-8")

    @property
    def files(self) -> "tuple[Prompt, ...]":
        """The prompts, of one file each, that it renders."""
        return (self,)

    @property
    def digest(self) -> str:
        """A fingerprint of the template's text."""
        return digest(self.text)

    @property
    def variables(self) -> frozenset[str]:
        """The names the template needs; raises UserError when it cannot be read."""
        from jinja2 import TemplateSyntaxError

        try:
            return _variables(self.text)
        except TemplateSyntaxError as error:
            raise UserError(
                f"Prompt '{self.name}', line {error.lineno}: {error.message}."
            ) from None

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages with the variables filled in; a missing variable raises UserError."""
        from jinja2 import TemplateRuntimeError

        template = _template(self.text)
        context = template.new_context(dict(values))
        blocks = [block for block in _ROLES if block in template.blocks]
        try:
            if not blocks:
                return (Message("user", template.render(dict(values)).strip()),)
            texts = {name: "".join(template.blocks[name](context)).strip() for name in blocks}
            return tuple(Message(_ROLES[name], text) for name, text in texts.items() if text)
        except TemplateRuntimeError as error:
            raise UserError(f"Prompt '{self.name}': {error.message}.") from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@lru_cache(maxsize=256)
def _variables(text: str) -> frozenset[str]:
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_environment().parse(text)))


@lru_cache(maxsize=256)
def _template(text: str) -> Any:
    return _environment().from_string(text)


Filling = Literal["", "chunk", "node"]


@dataclass(frozen=True)
class ContextBudget:
    """A limit on the tokens of a prompt's context, in one of two modes; None is no limit.

    *equal*: every method has the same number of tokens, filled with its rows of the kind `filling`.
    *native*: a method keeps its own k and its own budget, within the window of the reader.
    """

    tokens: int | None = None
    mode: Literal["equal", "native"] = "native"
    filling: Filling = ""

    @property
    def identity(self) -> str:
        """Its part of keys."""
        bound = "" if self.tokens is None else f", {self.tokens} tokens"
        return self.mode + bound + (f", filled with {self.filling}s" if self.filling else "")

    def at_most(self, tokens: int | None) -> "ContextBudget":
        """Return the budget of a block that has at most so many tokens."""
        bounds = [n for n in (self.tokens, tokens) if n is not None]
        return replace(self, tokens=min(bounds, default=None))


UNBOUNDED = ContextBudget()
"""No bound."""


FormName = Literal["short", "free", "list", "choice", "paragraph", "summary"]
Regime = Literal["house", "published"]
"""Whose conditions hold: the house's, equal for all methods, or those of the published source."""
OPEN: tuple[FormName, ...] = ("free", "list", "paragraph", "summary")
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


def answer_form(
    name: FormName, open_tokens: int | None = None, *, every: bool = False
) -> AnswerForm:
    """The form of that name, an open one with as many tokens as the run gives it, if it does.

    With `every` a closed one has them too. Raises KeyError for a name that is none.
    """
    form = _forms()[name]
    if open_tokens and (every or name in OPEN):
        return replace(form, max_tokens=open_tokens)
    return form


@cache
def _forms() -> dict[str, AnswerForm]:
    import yaml

    read = yaml.safe_load(FORMS.read_text(encoding="utf-8"))
    return {name: AnswerForm(name, **fields) for name, fields in read.items()}


def sub_question_form(whole: FormName, *, abstract: bool) -> FormName:
    """The form of a sub-question's answer, where the question itself wants the form `whole`.

    An abstract sub-question wants a paragraph at least. Of a question with options the
    sub-questions have none, so that they want a few words; those of a summary want a paragraph.
    """
    if abstract or whole == "summary":
        return "paragraph"
    return "short" if whole == "choice" else whole
