"""Reader of the project's own format: `corpus.jsonl` and `questions.jsonl`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.data.dataset import ABSTRACT, Document, Gold
from graphrag_bench.data.rows import FileRow, R, Rows, checked_row, objects, warn, with_options
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.text import without_spaces
from graphrag_bench.values import Question

_DOCUMENT_NAMES = {
    "_id": "id", "doc_id": "id", "docid": "id",
    "contents": "text", "content": "text", "passage": "text", "body": "text",
}  # fmt: skip
_QUESTION_NAMES = {
    "_id": "id", "qid": "id", "question_id": "id", "query_id": "id",
    "question": "text", "query": "text", "question_type": "type",
    "answer": "answers", "golden_answers": "answers", "gold_answers": "answers",
    "possible_answers": "answers", "answer_aliases": "answers", "generation_gt": "answers",
    "supporting_facts": "evidence", "supporting_docs": "evidence", "gold_docs": "evidence",
    "positive_ctxs": "evidence", "retrieval_gt": "evidence",
}  # fmt: skip
_EVIDENCE_NAMES = ("passage_id", "psg_id", "doc_id", "docid", "_id", "id", "title", "text")
"""Fields that may name the document in an evidence object, e.g. in a passage of DPR."""


class _Document(FileRow):
    id: str
    title: str = ""
    text: str
    scope: str | None = None
    aliases: list[str] = []


class _Question(FileRow):
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


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Read our own format, also with field names of FlashRAG, AutoRAG, BEIR, DPR and HotpotQA."""
    rows = Rows()
    for place, row in _read(corpus, _Document, _DOCUMENT_NAMES):
        document = Document(row.id, row.title, row.text, row.scope, tuple(row.aliases))
        rows.add_document(place, document)
    add_questions(rows, questions)
    return rows


def _read(path: Path, shape: type[R], names: Mapping[str, str]) -> Iterator[tuple[str, R]]:
    fields, ignored = shape.model_fields, dict[str, None]()
    for place, content in objects(path):
        cells: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
        row, written, others = dict[str, Any](), dict[str, str](), list[str]()
        for name in sorted(cells, key=lambda one: one in names):
            own, value = names.get(name, name), cells[name]
            several = own in fields and fields[own].default == []
            if own not in fields or (own in row and not several):
                others.append(name)
                continue
            if several:  # combine the values of all names
                if isinstance(value, Mapping):  # answers of SQuAD, facts in the hub's parquet
                    value = next((value[key] for key in ("text", "title") if key in value), [value])
                listed = value if isinstance(value, list) else [] if value is None else [value]
                value = [*row.get(own, ()), *listed]
            row[own], written[own] = value, name
        for name in others:
            if close := get_close_matches(name, fields.keys() - row, 1, 0.8):
                raise UserError(f"{place}: no field '{name}'. Did you mean '{close[0]}'?")
        ignored |= dict.fromkeys(others)
        yield place, checked_row(place, {**cells, **row} if cells else content, shape, written)
    if ignored:
        warn(f"{path}: ignored fields: {', '.join(ignored)}.")


def add_questions(rows: Rows, questions: Path, *, ids: bool = True) -> None:
    """Add the questions of a file. If `ids` is false, a missing id becomes a digest of the text."""
    named = cache(partial(_ids_by_name, rows))
    for place, row in _read(questions, _Question, _QUESTION_NAMES):
        if ids and not row.id:
            raise UserError(f"{place}: the field 'id' is missing.")
        if row.grades and len(row.grades) != len(row.evidence):
            n = f"{len(row.grades)} grades for {len(row.evidence)} evidence items"
            raise UserError(f"{place}: question '{row.id}' has {n}.")
        if any(item in ([], [""], {}, "", None) for item in row.evidence):
            raise UserError(f"{place}: question '{row.id}' has evidence that names no document.")
        graded: dict[str, int] = {}
        for item, grade in zip(row.evidence, row.grades or [1] * len(row.evidence), strict=True):
            evidence = _evidence_id(item, rows, named)
            graded[evidence] = max(grade, graded.get(evidence, 0))
        gold = Gold(
            tuple(dict.fromkeys(row.answers)), tuple(graded), row.type, row.hops,
            tuple(row.entities), spans=tuple(row.spans), options=tuple(row.options),
            correct=row.correct, grades=tuple(graded.values()),
        )  # fmt: skip
        name = row.id or f"q-{digest(with_options(row.text, row.options))[:8]}"
        rows.add_question(place, Question(name, row.text, row.scope), gold)
    golds = [replace(gold, hops=None) for gold in rows.gold.values()]
    if golds and all(one == Gold(type=one.type) and one.type != ABSTRACT for one in golds):
        warn(f"{questions}: no question has gold answers, evidence or options; nothing is scored.")


def _ids_by_name(rows: Rows) -> dict[str, list[str]]:
    titles, texts = dict[str, list[str]](), dict[str, list[str]]()
    for document in rows.documents.values():
        titles.setdefault(document.title, []).append(document.id)
        texts.setdefault(without_spaces(document.text), []).append(document.id)
    return texts | titles


def _evidence_id(item: Any, rows: Rows, named: Callable[[], dict[str, list[str]]]) -> str:
    """Return the id of the document that an evidence item of the questions file names.

    The item names a document by id, title or text, in a field (DPR) or at the start of a list
    (HotpotQA). A list of alternative ids (AutoRAG) becomes one item. `Rows.gold_error` reports
    unknown names.
    """
    ids = [*map(str, item)] if isinstance(item, list) else []
    if len(ids) > 1 and rows.documents.keys() >= {*ids}:
        rows.files[name := " or ".join(ids)] = ids
        return name
    names = ids[:1] or [str(item)]
    if isinstance(item, dict):
        names = [str(item[name]) for name in _EVIDENCE_NAMES if name in item]
    for key in (key for name in names for key in (name, without_spaces(name)) if key):
        if key in rows.documents or key in rows.files:
            return key
        if found := named().get(key):
            if len(found) > 1:
                rows.files.setdefault(key, found)
            return key if len(found) > 1 else found[0]
    return names[0] if names else f"{item!r:.80}"
