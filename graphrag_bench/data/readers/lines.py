"""The project's own format: corpus.jsonl and questions.jsonl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers.options import choice_gold, with_options
from graphrag_bench.data.rows import FileRow, Rows, json_lines
from graphrag_bench.fingerprint import digest
from graphrag_bench.values import Question


class _Document(FileRow):
    id: str
    title: str = ""
    text: str
    scope: str | None = None
    aliases: list[str] = []


class _Question(FileRow):
    id: str
    text: str
    answers: list[str] = []
    evidence: list[str] = []
    type: str = ""
    hops: int | None = None
    entities: list[str] = []
    scope: str | None = None
    spans: list[str] = []
    options: list[str] = []
    correct: int | None = None


class _WithoutId(_Question):
    id: str = ""


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Rows of `corpus.jsonl` (id, title, text, scope, aliases) and `questions.jsonl`.

    Aliases are other names of what the title names, as redirects of an encyclopedia.
    Questions: id, text, answers, evidence, and optionally type, hops, entities, scope, spans
    (sentences of the evidence), options and correct (the index of the right one, from 0). A
    question with options is asked with them, as lines `A. ...`.
    """
    rows = Rows()
    for place, read in json_lines(corpus, _Document):
        document = Document(read.id, read.title, read.text, read.scope, tuple(read.aliases))
        rows.add_document(place, document)
    add_questions(rows, questions)
    return rows


def add_questions(rows: Rows, questions: Path, *, ids: bool = True) -> None:
    """Add the rows of a `questions.jsonl`.

    Without `ids` a row may lack its id, and has one of its text then (`q-1a2b3c4d`), which stays
    when other questions are added.
    """
    for place, row in json_lines(questions, _Question if ids else _WithoutId):
        text = with_options(row.text, row.options) if row.options else row.text
        name = row.id or f"q-{digest(text)[:8]}"
        rows.add_question(place, Question(name, text, row.scope), _gold(place, row))


def _gold(place: str, row: _Question) -> Gold:
    choice = Gold()
    if row.options or row.correct is not None:
        choice = choice_gold(place, row.options, row.correct)
    return replace(
        choice,
        answers=tuple(row.answers) or choice.answers,
        evidence=tuple(dict.fromkeys(row.evidence)),
        type=row.type,
        hops=row.hops,
        entities=tuple(row.entities),
        spans=tuple(row.spans),
    )
