"""Reader of the project's own format: `corpus.jsonl` and `questions.jsonl`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import PositiveInt

from graphrag_bench.data.dataset import ABSTRACT, Document, Gold
from graphrag_bench.data.rows import (
    FileRow,
    Place,
    Rows,
    checked_row,
    choice_gold,
    objects,
    warn,
    with_options,
)
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.text import without_spaces
from graphrag_bench.values import Question


class _Named(FileRow):
    other_names: ClassVar[Mapping[str, str]] = {}


R = TypeVar("R", bound=_Named)


class _Document(_Named):
    other_names = {
        "_id": "id", "doc_id": "id", "docid": "id",
        "contents": "text", "content": "text", "passage": "text", "body": "text",
    }  # fmt: skip

    id: str
    title: str = ""
    text: str
    scope: str | None = None
    aliases: list[str] = []


class _Question(_Named):
    other_names = {
        "_id": "id", "qid": "id", "question_id": "id", "query_id": "id",
        "question": "text", "query": "text", "question_type": "type",
        "answer": "answers", "golden_answers": "answers", "gold_answers": "answers",
        "possible_answers": "answers", "answer_aliases": "answers", "generation_gt": "answers",
        "supporting_facts": "evidence", "supporting_docs": "evidence", "gold_docs": "evidence",
        "positive_ctxs": "evidence", "retrieval_gt": "evidence",
    }  # fmt: skip

    id: str = ""
    text: str
    answers: list[str] = []
    evidence: list[Any] = []
    grades: list[PositiveInt] = []
    type: str = ""
    hops: int | None = None
    entities: list[str] = []
    scope: str | None = None
    spans: list[str] = []
    options: list[str] = []
    correct: int | None = None


_NAMES = ("passage_id", "psg_id", "doc_id", "docid", "_id", "id", "title", "text")
"""Fields that may name the document in an evidence object, e.g. in a passage of DPR."""


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Read the project's own format: `corpus.jsonl` and `questions.jsonl`.

    A document has the fields id, title, text, scope and aliases. A question has the fields id,
    text, answers and evidence. The optional fields are grades (the relevance of each evidence item,
    1 or more), type, hops, entities, scope, spans (sentences of the evidence), options, and correct
    (the index of the correct option, from 0). Options are appended to the text of the question as
    lines `A. ...`. The field names of FlashRAG, AutoRAG, BEIR, DPR and HotpotQA are accepted as
    well. A warning lists the ignored fields.
    """
    rows = Rows()
    for place, row in _read(corpus, _Document):
        document = Document(row.id, row.title, row.text, row.scope, tuple(row.aliases))
        rows.add_document(place, document)
    add_questions(rows, questions)
    return rows


def _read(path: Path, shape: type[R]) -> Iterator[tuple[Place, R]]:
    unread: dict[str, None] = {}
    for place, content in objects(path):
        row: Any = content
        written: dict[str, str] = {}
        if isinstance(content, Mapping):
            row, others = {}, list[str]()
            for name in sorted(content, key=lambda one: one in shape.other_names):
                own = shape.other_names.get(name, name)
                several = own in shape.model_fields and shape.model_fields[own].default == []
                if own not in shape.model_fields or (own in row and not several):
                    others.append(name)
                elif several:  # combine the values of all names
                    row[own] = [*row.get(own, ()), *_several(content[name])]
                    written[own] = name
                else:
                    row[own] = content[name]
                    written[own] = name
            for name in others:
                if close := get_close_matches(name, shape.model_fields.keys() - row, 1, 0.8):
                    raise UserError(f"{place}: no field '{name}'. Did you mean '{close[0]}'?")
            unread |= dict.fromkeys(others)
        yield place, checked_row(place, row, shape, written)
    if unread:
        warn(f"{path}: ignored fields: {', '.join(unread)}.")


def _several(value: object) -> list[object]:
    if isinstance(value, Mapping):  # the answers of SQuAD, the facts in the hub's parquet
        value = next((value[name] for name in ("text", "title") if name in value), [value])
    return value if isinstance(value, list) else [] if value is None else [value]


def add_questions(rows: Rows, questions: Path, *, ids: bool = True) -> None:
    """Add the questions of a file. If `ids` is false, a missing id becomes a digest of the text."""
    documents = _DocumentNames(rows)
    for place, row in _read(questions, _Question):
        if ids and not row.id:
            raise UserError(f"{place}: the field 'id' is missing.")
        if row.grades and len(row.grades) != len(row.evidence):
            n = f"{len(row.grades)} grades for {len(row.evidence)} evidence items"
            raise UserError(f"{place}: question '{row.id}' has {n}.")
        if any(item in ([], [""], {}, "", None) for item in row.evidence):
            raise UserError(
                f"{place}: question '{row.id}' has an empty evidence item, which names no document."
            )
        graded: dict[str, int] = {}
        for item, grade in zip(row.evidence, row.grades or [1] * len(row.evidence), strict=True):
            evidence = documents.id_of(item)
            graded[evidence] = max(grade, graded.get(evidence, 0))
        text, choice = with_options(row.text, row.options), Gold()
        if row.options or row.correct is not None:
            choice = choice_gold(place, row.options, row.correct)
        gold = replace(
            choice,
            answers=tuple(dict.fromkeys(row.answers)) or choice.answers,
            evidence=tuple(graded),
            grades=tuple(graded.values()),
            type=row.type,
            hops=row.hops,
            entities=tuple(row.entities),
            spans=tuple(row.spans),
        )
        name = row.id or f"q-{digest(text)[:8]}"
        rows.add_question(place, Question(name, text, row.scope), gold)
    if rows.gold and not any(one.type == ABSTRACT or one != Gold(type=one.type, hops=one.hops)
                             for one in rows.gold.values()):  # fmt: skip
        warn(
            f"{questions}: no question has gold answers, evidence or options, so nothing is scored."
        )


class _DocumentNames:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @cached_property
    def named(self) -> dict[str, list[str]]:
        """The ids of the documents with each title, and with each text that is not also a title."""
        names: dict[str, list[str]] = {}
        for name_of in (lambda row: row.title, lambda row: without_spaces(row.text)):
            others: dict[str, list[str]] = {}
            for document in self.rows.documents.values():
                others.setdefault(name_of(document), []).append(document.id)
            names = others | names
        return names

    def id_of(self, item: Any) -> str:
        """Return the id of the document that an evidence item of the questions file names.

        The item may be the id, the title or the text of a document, an object with such a field, or
        a list that begins with an id, title or text (as in HotpotQA). It may also be a list of
        alternative ids (as in AutoRAG), which become one evidence item. If several documents share
        a title or text, the title or text is returned unchanged. An unknown item is returned
        unchanged as well, so that `Rows.gold_error` can report it.
        """
        ids = [*map(str, item)] if isinstance(item, list) else []
        if len(ids) > 1 and self.rows.documents.keys() >= {*ids}:
            self.rows.files[name := " or ".join(ids)] = ids
            return name
        if isinstance(item, dict):
            names = [str(item[name]) for name in _NAMES if name in item]
        else:
            names = [str(item[0] if isinstance(item, list) and item else item)]
        for key in (key for name in names for key in (name, without_spaces(name)) if key):
            if key in self.rows.documents or key in self.rows.files:
                return key
            if found := self.named.get(key):
                if len(found) > 1:
                    self.rows.files.setdefault(key, found)
                return key if len(found) > 1 else found[0]
        return names[0] if names else f"{item!r:.80}"
