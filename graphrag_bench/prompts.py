"""Prompts: Jinja2 files whose variables are known, checked and never silently missing.

A prompt file may hold two blocks, `system` and `user`; without blocks it is one user message.
Corpus and model texts enter as values of variables and are never read as templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest


@dataclass(frozen=True)
class Message:
    """One message of a chat; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """A template named `package:path`, e.g. `methods:hipporag/prompts/answer.j2`.

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
    def files(self) -> tuple[Prompt, ...]:
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
        roles = [role for role in ("system", "user") if role in template.blocks]
        try:
            if not roles:
                return (Message("user", template.render(dict(values)).strip()),)
            return tuple(
                Message(role, "".join(template.blocks[role](context)).strip()) for role in roles
            )
        except TemplateRuntimeError as error:
            raise UserError(f"Prompt '{self.name}': {error.message}.") from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@lru_cache(maxsize=256)
def _variables(text: str) -> frozenset[str]:
    """The undeclared names of a template, which is parsed once."""
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_environment().parse(text)))


@lru_cache(maxsize=256)
def _template(text: str) -> Any:
    """A template compiled once, however many questions it is filled in for."""
    return _environment().from_string(text)
