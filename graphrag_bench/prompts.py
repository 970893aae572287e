"""Prompts: Jinja2 templates whose variables are checked before a run.

A prompt file may contain the blocks `system`, `example`, `reply` and `user`. An empty block adds no
message. A file without blocks is a single user message. Texts of corpora and models are
passed as variables and are never parsed as templates.
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
"""The role of each block of a prompt file, in the order of the messages."""
Filling = Literal["", "chunk", "node"]
FormName = Literal["short", "free", "list", "choice", "paragraph", "summary"]
Regime = Literal["house", "published"]
"""Conditions of a run: `house` (equal for all methods) or `published` (as in a method's paper)."""
OPEN: tuple[FormName, ...] = ("free", "list", "paragraph", "summary")
"""Forms whose answers may have any length."""
REFUSAL = "unanswerable"
"""The reply that every `licence` asks for if the context does not contain the answer."""


@dataclass(frozen=True)
class Message:
    """A message of a chat. `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """A prompt template, named `package:path`. A file of the same name in `folder` replaces it."""

    name: str
    folder: str | None = None

    def __str__(self) -> str:
        return self.name

    @cached_property
    def text(self) -> str:
        """The text of the template. Raises UserError if the package or the file does not exist."""
        package, colon, path = self.name.partition(":")
        if not colon:
            raise UserError(f"Prompt '{self.name}': expected 'package:path'.")
        if self.folder and (own := Path(self.folder) / Path(path).name).is_file():
            return own.read_text(encoding="utf-8")
        try:
            root = files(import_module(package))
        except ModuleNotFoundError:
            raise UserError(f"Prompt '{self.name}': unknown package '{package}'.") from None
        file = root.joinpath(path)
        if not file.is_file():
            near = root.joinpath(str(Path(path).parent))
            there = [item.name for item in near.iterdir()] if near.is_dir() else []
            hint = did_you_mean(Path(path).name, sorted(there))
            raise UserError(f"Unknown prompt file '{self.name}'. {hint}")
        return file.read_text(encoding="utf-8")

    @property
    def files(self) -> "tuple[Prompt, ...]":
        """The template files of this prompt, each as a prompt of its own."""
        return (self,)

    @property
    def digest(self) -> str:
        """The fingerprint of the template's text."""
        return digest(self.text)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the template's variables. Raises UserError for a syntax error."""
        from jinja2 import TemplateSyntaxError, meta

        try:
            return frozenset(meta.find_undeclared_variables(_environment().parse(self.text)))
        except TemplateSyntaxError as error:
            place = f"Prompt '{self.name}', line {error.lineno}"
            raise UserError(f"{place}: {error.message}.") from None

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the prompt's messages for these variables. Raises UserError if any is missing."""
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
def _template(text: str) -> Any:
    return _environment().from_string(text)


@dataclass(frozen=True)
class ContextBudget:
    """A limit on the tokens of a prompt's context. `tokens` is None if there is no limit.

    In the mode *equal*, every method gets the same number of tokens, filled up with chunks or
    nodes. In the mode *native*, a method keeps its own top-k and its own budget, up to the window.
    """

    tokens: int | None = None
    mode: Literal["equal", "native"] = "native"
    filling: Filling = ""

    @property
    def identity(self) -> str:
        """The budget as a text, which is part of the run key."""
        bound = "" if self.tokens is None else f", {self.tokens} tokens"
        return self.mode + bound + (f", filled with {self.filling}s" if self.filling else "")

    def at_most(self, tokens: int | None) -> "ContextBudget":
        """Return the budget with a limit of at most `tokens`, or unchanged if `tokens` is None."""
        bounds = [n for n in (self.tokens, tokens) if n is not None]
        return replace(self, tokens=min(bounds, default=None))


UNBOUNDED = ContextBudget()


@dataclass(frozen=True)
class AnswerForm:
    """The form of an answer, e.g. a short answer or a paragraph.

    `manner` completes the instruction "Answer the question ...". `cue` ends the prompt. `licence`
    tells the model what to reply if the context does not contain the answer. Answers in `prose` are
    judged as texts.
    """

    name: FormName
    manner: str
    cue: str
    licence: str
    max_tokens: int
    prose: bool = False


def answer_form(
    name: FormName, open_tokens: int | None = None, *, all_forms: bool = False
) -> AnswerForm:
    """Return the answer form with this name.

    `open_tokens` replaces the token limit of a form in `OPEN`, or of any form if `all_forms`.
    """
    form = _forms()[name]
    if open_tokens and (all_forms or name in OPEN):
        return replace(form, max_tokens=open_tokens)
    return form


@cache
def _forms() -> dict[str, AnswerForm]:
    import yaml

    read = yaml.safe_load(Path(__file__).with_name("answer_forms.yaml").read_text("utf-8"))
    return {name: AnswerForm(name, **fields) for name, fields in read.items()}


def sub_question_form(whole: FormName, *, abstract: bool) -> FormName:
    """Return the answer form of a sub-question, given the answer form of the whole question."""
    if abstract or whole == "summary":
        return "paragraph"
    return "short" if whole == "choice" else whole
