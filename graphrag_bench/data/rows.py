"""Rows read from files, each with its place, so that every error names file and line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.file_evidence import with_parts
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.plain_json import read_json
from graphrag_bench.values import Question

if TYPE_CHECKING:
    from graphrag_bench.data.subgraphs import Subgraphs


class FileRow(BaseModel):
    """The fields of one row of a published format; numbers are read as texts."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


R = TypeVar("R", bound=FileRow)
OneOrSeveral = Annotated[
    list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]
"""A field that holds one text, or a list of them."""


@dataclass
class Rows:
    """The documents and questions of a set by id, the file and line of each, and its triples."""

    documents: dict[str, Document] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    gold: dict[str, Gold] = field(default_factory=dict)
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    subgraphs: Subgraphs | None = None
    files: dict[str, list[str]] = field(default_factory=dict)
    """The documents of each file that gave several; evidence may name the file."""

    def add_document(self, place: str, document: Document) -> None:
        """Keep a document; raises UserError when its id was there before."""
        self._note("document", document.id, place)
        self.documents[document.id] = document

    def add_question(self, place: str, question: Question, gold: Gold) -> None:
        """Keep a question; raises UserError for an id that was there before, and blank texts."""
        self._note("question", question.id, place)
        if not question.text.strip():
            raise UserError(f"{place}: question '{question.id}' has no text.")
        if any(not answer.strip() for answer in gold.answers):
            raise UserError(f"{place}: question '{question.id}' has a blank answer.")
        self.questions[question.id], self.gold[question.id] = question, gold

    def _note(self, kind: str, name: str, place: str) -> None:
        if before := self.places.get((kind, name)):
            first = before.rpartition(", ")[2]
            raise UserError(f"{place}: the id '{name}' was there before ({first}).")
        self.places[kind, name] = place

    def check(self, corpus: Path) -> None:
        """Refuse a corpus without text, and evidence that it does not hold; raises UserError.

        `corpus` is its file, or its folder. Evidence that names a file gets the file's documents.
        """
        if not self.documents:
            raise UserError(f"{corpus}: the corpus is empty.")
        if not any(document.text.strip() for document in self.documents.values()):
            raise UserError(f"{corpus}: every document is blank.")
        for name, gold in self.gold.items():
            parts = []
            for evidence in gold.evidence:
                if evidence in self.files:
                    parts.append((evidence, tuple(self.files[evidence])))
                elif evidence not in self.documents:
                    raise self._no_evidence(name, evidence, corpus)
            if parts:
                self.gold[name] = with_parts(gold, parts)

    def _no_evidence(self, name: str, evidence: str, corpus: Path) -> UserError:
        place = self.places["question", name]
        ids = [*self.files, *self.documents][:20000]
        hint = did_you_mean(evidence, ids, [*ids[:3], "..."])
        lacks = f"which {corpus.name} does not hold"
        if corpus.is_dir():
            lacks = f"but no file of the folder '{corpus}' has that name or a part of it"
        return UserError(
            f"{place}: question '{name}' names the evidence '{evidence}', {lacks}. {hint}"
        )


def read_text(path: Path) -> str:
    """The file's text; raises UserError when it is missing or not UTF-8."""
    if not path.is_file():
        there = sorted(item.name for item in path.parent.glob("*.json*"))
        hint = did_you_mean(path.name, there, there or ["no JSON file"])
        raise UserError(f"There is no file '{path}'. {hint}")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8 (byte {error.start}).") from None


def json_lines(path: Path, shape: type[R]) -> Iterator[tuple[str, R]]:
    """Place and row of every line of a JSON-lines file that is not blank."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            try:
                content = read_json(line, place)
            except json.JSONDecodeError as error:
                raise UserError(f"{place}: not JSON ({error.msg}).") from None
            _refuse_misspelt(place, content, shape)
            yield place, shaped(place, content, shape)


def json_file(path: Path) -> object:
    """The content of a JSON file; raises UserError, with the line, for one that is none."""
    try:
        return read_json(read_text(path), str(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}: not JSON ({error.msg}).") from None


def json_list(path: Path, what: str, shape: type[R]) -> Iterator[tuple[str, R]]:
    """Place and row of every item of a JSON file that holds one list; `what` names an item."""
    content = json_file(path)
    if not isinstance(content, list):
        raise UserError(f"{path}: a list of {what}s was expected, not {type(content).__name__}.")
    for number, item in enumerate(content):
        place = f"{path}, {what} {number}"
        yield place, shaped(place, item, shape)


def shaped(place: str, content: Any, shape: type[R]) -> R:
    """The checked row; raises UserError, with its place, for a field that is wrong or missing."""
    names = [of.alias or name for name, of in shape.model_fields.items()]
    if not isinstance(content, dict):
        raise UserError(
            f"{place}: an object with {', '.join(names)} was expected, not {content!r:.60}."
        )
    try:
        return shape.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        path = ".".join(str(part) for part in fault["loc"])
        if fault["type"] != "missing":
            raise UserError(f"{place}: field '{path}': {fault['msg']}.") from None
        hint = did_you_mean(path, content)
        raise UserError(f"{place}: the field '{path}' is missing. {hint}") from None


def _refuse_misspelt(place: str, content: Any, shape: type[FileRow]) -> None:
    if not isinstance(content, dict):
        return
    absent = [name for name in shape.model_fields if name not in content]
    for name in content:
        close = difflib.get_close_matches(name, absent, n=1, cutoff=0.8)
        if name not in shape.model_fields and close:
            raise UserError(f"{place}: there is no field '{name}'; did you mean '{close[0]}'?")
