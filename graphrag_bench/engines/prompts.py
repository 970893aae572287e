"""Prompts of a released engine, read from where it is installed: `prompts=original`.

A method names a map beside its page (`originals: methods:lightrag/original.yaml`). For each of our
prompts the map says in which file of the engine which value holds the messages, and which of our
variables each of its variables takes. The engine's file is read as a syntax tree: nothing in it is
run. Rendering replaces named variables in one pass and does nothing else. The map is ours; no text
of an engine is copied.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest
from graphrag_bench.plain_yaml import read_yaml
from graphrag_bench.prompts import Message, Prompt

Tree = Mapping[str, ast.expr]
_FORMAT = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*)\}|[{}]")
_DOLLAR = re.compile(r"\$\$|\$\{(?P<braced>[A-Za-z_]\w*)\}|\$(?P<bare>[A-Za-z_]\w*)|\$")
_PLACES = ("{0}/lib/python3*/site-packages", "{0}/Lib/site-packages", "{0}")
"""Where an engine is in the folder of engines, the first place that has its file; else in the
folder itself, which may be one environment's site-packages."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Variable(_Strict):
    """What a variable of the engine takes: one of ours, fixed text, or another value of its file.

    A list is joined by `between`.
    """

    ours: str | None = None
    fixed: str | None = None
    at: str | None = None
    between: str = "\n"

    @model_validator(mode="after")
    def _one(self) -> Variable:
        if sum(value is not None for value in (self.ours, self.fixed, self.at)) != 1:
            raise ValueError("a variable has one of 'ours', 'fixed' and 'at'")
        return self


class Part(_Strict):
    """A message: its role, and the value of the engine's file, or text of ours, that it holds."""

    role: Literal["system", "user", "assistant"]
    at: str | None = None
    own: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Part:
        if (self.at is None) == (self.own is None):
            raise ValueError("a message has one of 'at' and 'own'")
        return self


class Original(_Strict):
    """One prompt of the engine: its file, its messages (or the list that holds them), its marks."""

    file: str
    messages: tuple[Part, ...] = ()
    chat: str | None = None
    marks: Literal["format", "dollar"] = "format"
    variables: dict[str, Variable] = Field(default_factory=dict)


class Originals(_Strict):
    """The map of a method: the engine's package, and its prompts by the name of ours.

    `left` says of prompts that stay ours why they do.
    """

    distribution: str
    licence: str
    prompts: dict[str, Original]
    left: dict[str, str] = Field(default_factory=dict)


def read_originals(name: str) -> Originals:
    """The map of that name, `package:path`; raises UserError for one that is not there or wrong."""
    package, _, path = name.partition(":")
    try:
        text = files(import_module(package)).joinpath(path).read_text(encoding="utf-8")
        return Originals.model_validate(read_yaml(text, name))
    except (ModuleNotFoundError, FileNotFoundError, IsADirectoryError, ValueError) as error:
        if isinstance(error, ValidationError):
            said = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
            )
            raise UserError(f"originals '{name}': {said}.") from None
        raise UserError(f"There is no map of original prompts '{name}'.") from None


@dataclass(frozen=True)
class EnginePrompt(Prompt):
    """The engine's prompt in the place of ours of that name.

    `engines` is the folder of installed engines (`paths.engines`). Raises UserError where the
    engine is not installed there, where its file has no such value, and where the value is not
    plain text.
    """

    original: Original | None = field(default=None, hash=False)
    distribution: str = ""
    engines: str = ""

    @cached_property
    def file(self) -> Path:
        """The engine's file."""
        assert self.original is not None
        root = Path(self.engines).expanduser()
        found = [sorted(root.glob(place.format(self.distribution))) for place in _PLACES]
        for folder in (*(one for places in found for one in places), root):
            if (file := folder / self.original.file).is_file():
                return file
        raise UserError(
            f"prompts=original: {self.distribution} is not installed in '{self.engines}': there is "
            f"no '{self.original.file}' below '{self.distribution}'. Install it with: "
            f"graphrag-bench engines install {self.distribution}"
        )

    @cached_property
    def chat(self) -> tuple[Message, ...]:
        """The messages with their marks, as the engine's file has them."""
        assert self.original is not None
        if self.original.chat is not None:
            held = self._value(self.original.chat)
            if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
                raise self._wrong(self.original.chat, "a list of messages")
            return tuple(Message(str(one["role"]), str(one["content"])) for one in held)
        return tuple(
            Message(part.role, part.own if part.own is not None else self._text(str(part.at)))
            for part in self.original.messages
        )

    @property
    def text(self) -> str:
        """All messages, as the engine's file has them."""
        return "\n".join(message.content for message in self.chat)

    @property
    def digest(self) -> str:
        """A fingerprint of the engine's text, its fixed values and the map."""
        assert self.original is not None
        fixed = {name: self._fixed(one) for name, one in self.original.variables.items()}
        messages = [[one.role, one.content] for one in self.chat]
        return digest("original", messages, self.original.model_dump_json(), fixed)

    @property
    def variables(self) -> frozenset[str]:
        """Our variables that the map asks for; raises UserError for a mark that it lacks."""
        assert self.original is not None
        known = self.original.variables
        for message in self.chat:
            for name in _names(message.content, self.original.marks):
                if name is None or name not in known:
                    shown = "a single brace" if name is None else f"the variable '{name}'"
                    hint = did_you_mean(name or "", sorted(known)) if known else ""
                    raise UserError(
                        f"{self.file}: {shown} is not in the map of '{self.name}': another "
                        f"version of {self.distribution}? {hint}".rstrip()
                    )
        return frozenset(one.ours for one in known.values() if one.ours is not None)

    def render(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages with the named variables replaced, in one pass; nothing is stripped."""
        assert self.original is not None
        filled = {name: self._filled(one, values) for name, one in self.original.variables.items()}
        return self.filled(filled)

    def filled(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with the engine's own variables replaced by these texts."""
        assert self.original is not None
        return tuple(
            Message(one.role, replaced(one.content, values, self.original.marks))
            for one in self.chat
        )

    def _filled(self, variable: Variable, values: Mapping[str, Any]) -> str:
        if variable.ours is None:
            return str(self._fixed(variable))
        if variable.ours not in values:
            raise UserError(f"Prompt '{self.name}': '{variable.ours}' is undefined.")
        value = values[variable.ours]
        if isinstance(value, str):
            return value
        return variable.between.join(str(getattr(one, "text", one)) for one in value)

    def _fixed(self, variable: Variable) -> str | None:
        if variable.at is None:
            return variable.fixed
        value = self._value(variable.at)
        return value if isinstance(value, str) else variable.between.join(map(str, value))

    def _text(self, path: str) -> str:
        value = self._value(path)
        if not isinstance(value, str):
            raise self._wrong(path, "a text")
        return value

    def _wrong(self, path: str, what: str) -> UserError:
        return UserError(f"{self.file}: '{path}' is not {what}.")

    def _value(self, path: str) -> Any:
        tree = self._tree
        if path not in tree:
            raise UserError(f"{self.file} has no '{path}'. {did_you_mean(path, sorted(tree))}")
        return _read(tree[path], tree, self.file)

    @cached_property
    def _tree(self) -> Tree:
        try:
            return dict(_assigned(ast.parse(self.file.read_text(encoding="utf-8"))))
        except (SyntaxError, ValueError) as error:
            raise UserError(f"{self.file} is not a file of Python: {error}.") from None


def replaced(
    text: str, values: Mapping[str, str], marks: Literal["format", "dollar"] = "format"
) -> str:
    """The text with each named variable replaced, once, and doubled marks made single.

    What a value holds is never looked at again. Raises UserError for a name without a value.
    """

    def one(found: re.Match[str]) -> str:
        name = next((value for value in found.groupdict().values() if value), None)
        if name is None:
            return found.group()[0]
        if name not in values:
            raise UserError(f"The template asks for '{name}', which has no value.")
        return values[name]

    return (_FORMAT if marks == "format" else _DOLLAR).sub(one, text)


def _names(text: str, marks: str) -> Iterator[str | None]:
    """The variables of a text; None for a single mark that names none."""
    for found in (_FORMAT if marks == "format" else _DOLLAR).finditer(text):
        name = next((value for value in found.groupdict().values() if value), None)
        if name is not None or len(found.group()) == 1:
            yield name


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Every value that the file gives a name, and a place of a mapping: `PROMPTS[answer]`."""
    for statement in module.body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets: Sequence[ast.expr] = (statement.target,)
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        assert statement.value is not None
        for target in targets:
            name = _name(target)
            if name is None:
                continue
            yield name, statement.value
            if isinstance(statement.value, ast.Dict):
                for key, value in zip(statement.value.keys, statement.value.values, strict=True):
                    if isinstance(key, ast.Constant):
                        yield f"{name}[{key.value!s}]", value


def _name(target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        inner = _name(target.value)
        return f"{inner}[{target.slice.value!s}]" if inner else None
    return None


def _read(value: ast.expr, tree: Tree, file: Path, depth: int = 0) -> Any:
    """The plain value of an expression: texts, their sums, names of them, lists, mappings."""
    if depth > _DEEPEST:
        raise UserError(f"{file}: a value refers to itself.")
    if isinstance(value, ast.Constant):
        return value.value
    if isinstance(value, ast.List | ast.Tuple):
        return [_read(one, tree, file, depth + 1) for one in value.elts]
    if isinstance(value, ast.Dict):
        return {
            _read(key, tree, file, depth + 1): _read(one, tree, file, depth + 1)
            for key, one in zip(value.keys, value.values, strict=True)
            if key is not None
        }
    if isinstance(value, ast.Name | ast.Subscript) and (name := _name(value)) in tree:
        assert name is not None
        return _read(tree[name], tree, file, depth + 1)
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.JoinedStr):
        parts = [
            one.value if isinstance(one, ast.FormattedValue) and _bare(one) else one
            for one in value.values
        ]
    read = [_read(one, tree, file, depth + 1) for one in parts]
    if not read or not all(isinstance(one, str) for one in read):
        raise UserError(f"{file}, line {value.lineno}: this is not plain text, and is not run.")
    return "".join(read)


def _bare(value: ast.FormattedValue) -> bool:
    return value.conversion == -1 and value.format_spec is None


_DEEPEST = 50
