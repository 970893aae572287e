"""The card of a data set: identity, licence, where it comes from and in which shapes it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from graphrag_bench.answer_forms import FormName
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

UNKNOWN = "unknown"
"""What a card says of an unchecked checksum or revision; never an invented one."""
DEFAULT_FORM = "default"
ABSTRACT = "abstract"
"""The type of questions about a corpus as a whole, as `graphrag-bench questions` makes them."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Download(_Part):
    """A published file: `path` in the hub's data set (a pattern may name several), or `url`.

    `to` is the name it gets, by default its own. `members` says what is taken out of an archive:
    patterns of member names, each with the name it gets ("" keeps the last part of its own); the
    archive itself is not kept.
    """

    path: str = ""
    url: str = ""
    to: str = ""
    sha256: str = UNKNOWN
    members: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_place(self) -> Download:
        if bool(self.path) == bool(self.url):
            raise ValueError("a download has a path in the hub's data set or a url, and not both")
        return self


class Source(_Part):
    """Where a published set comes from; `hub` is the name of a data set on the hub.

    `by_hand` says what to do where the publisher asks for consent, or gives no direct address.
    """

    url: str
    hub: str = ""
    revision: str = UNKNOWN
    downloads: list[Download] = []
    by_hand: str = ""


class Layout(_Part):
    """Another shape in which the set is published: its reader and its files."""

    reader: str
    files: dict[str, str]
    note: str = ""


class Card(_Part):
    """`datasets/<name>/card.yaml`: identity, licence, readers and expected shape of a set.

    `verified` says whether the shape was checked against the publisher's files or documentation,
    `checked` against which. `counts` are what the publisher or `counts_from` prints. `answers` is
    the form of answer that the questions want: one for all, or `default` and others by type.
    """

    name: str
    title: str
    task: str
    language: str = "en"
    license: str
    citation: str
    source: Source | None = None
    verified: bool = True
    checked: str = ""
    reader: str
    files: dict[str, str] = {}
    layouts: list[Layout] = []
    chunking: Literal["presplit", "token", "separator"] = "presplit"
    counts: dict[str, int] = {}
    counts_from: str = ""
    pinned: dict[str, dict[int, str]] = {}
    answers: FormName | dict[str, FormName] = "short"
    metrics: list[str] = []
    known_problems: list[str] = []
    contamination: str = ""

    @field_validator("answers")
    @classmethod
    def _with_default(cls, value: FormName | dict[str, FormName]) -> object:
        if isinstance(value, dict) and DEFAULT_FORM not in value:
            raise ValueError(f"answers by type need a '{DEFAULT_FORM}' for the other types")
        return value

    def form_of(self, question_type: str) -> FormName:
        """The form of answer that a question of that type wants; an abstract one a paragraph.

        What the card says of a type counts first.
        """
        held = self.answers if isinstance(self.answers, dict) else {DEFAULT_FORM: self.answers}
        by_type: dict[str, FormName] = {ABSTRACT: "paragraph", **held}
        return by_type.get(question_type, by_type[DEFAULT_FORM])

    @property
    def shapes(self) -> list[Layout]:
        """The shapes that are looked for in a folder, the card's own first."""
        return [Layout(reader=self.reader, files=self.files), *self.layouts]


def card_names() -> list[str]:
    """The names of all sets that have a card, sorted."""
    return sorted(path.parent.name for path in project_folder("datasets").glob("*/card.yaml"))


def card_file(name: str) -> Path:
    """The path of a data set's card, existing or not."""
    return project_folder("datasets").resolve() / name / "card.yaml"


def load_card(name: str) -> Card:
    """The checked card of a set; raises UserError for an unknown name or a bad card."""
    path = card_file(name)
    if not path.is_file():
        raise unknown("dataset", name, card_names())
    try:
        return Card.model_validate(read_yaml(path.read_text(encoding="utf-8"), str(path)))
    except ValidationError as error:
        raise UserError(f"{path}: {error}") from None
