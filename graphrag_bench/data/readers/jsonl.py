"""The project's own format: `corpus.jsonl` and `questions.jsonl`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from graphrag_bench.data.dataset import ABSTRACT, Document, Gold
from graphrag_bench.data.rows import FileRow, Rows, choice_gold, json_lines, warn, with_options
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.text import squash
from graphrag_bench.values import Question


class _Document(FileRow):
    other_names = {
        "_id": "id", "doc_id": "id", "docid": "id",
        "contents": "text", "content": "text", "passage": "text", "body": "text",
    }  # fmt: skip

    id: str
    title: str = ""
    text: str
    scope: str | None = None
    aliases: list[str] = []


class _Question(FileRow):
    other_names = {
        "_id": "id", "qid": "id", "question_id": "id", "query_id": "id",
        "question": "text", "query": "text", "question_type": "type",
        "answer": "answers", "golden_answers": "answers", "gold_answers": "answers",
        "possible_answers": "answers", "answer_aliases": "answers",
    }  # fmt: skip

    id: str = ""
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
    supporting_facts: object = None
    supporting_docs: object = None
    gold_docs: object = None
    positive_ctxs: object = None


_SUPPORTING = ("supporting_facts", "supporting_docs", "gold_docs", "positive_ctxs")
"""Evidence in the words of other tools: ids, titles or texts of documents, alone, first in a list
(HotpotQA's facts), or as a field of an object (DPR's passages)."""
_NAMES = ("passage_id", "psg_id", "doc_id", "docid", "_id", "id", "title", "text")


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Return the rows of `corpus.jsonl` (id, title, text, scope, aliases) and `questions.jsonl`.

    Questions: id, text, answers, evidence, and optionally type, hops, entities, scope, spans
    (sentences of the evidence), options and correct (the index of the right one, from 0). A
    question with options is asked with them, as lines `A. ...`. Names that FlashRAG, BEIR, DPR and
    HotpotQA have for these are read too; a field that is not read is named in a note.
    """
    rows = Rows()
    for place, row in json_lines(corpus, _Document):
        document = Document(row.id, row.title, row.text, row.scope, tuple(row.aliases))
        rows.add_document(place, document)
    add_questions(rows, questions)
    return rows


def add_questions(rows: Rows, questions: Path, *, ids: bool = True) -> None:
    """Add the rows of a `questions.jsonl`.

    Without `ids` a row may lack its id, and has one of its text then (`q-1a2b3c4d`), which stays
    when other questions are added.
    """
    named: dict[str, list[str]] = {}
    for place, row in json_lines(questions, _Question):
        if ids and not row.id:
            raise UserError(f"{place}: the field 'id' is missing.")
        text, choice = with_options(row.text, row.options), Gold()
        if row.options or row.correct is not None:
            choice = choice_gold(place, row.options, row.correct)
        evidence = dict.fromkeys(row.evidence)
        for field in _SUPPORTING:
            if value := getattr(row, field):
                named = named or _by_any_name(rows)
                evidence |= dict.fromkeys(_supporting(f"{place}: '{field}'", value, named, rows))
        gold = replace(
            choice,
            answers=tuple(dict.fromkeys(row.answers)) or choice.answers,
            evidence=tuple(evidence),
            type=row.type,
            hops=row.hops,
            entities=tuple(row.entities),
            spans=tuple(row.spans),
        )
        name = row.id or f"q-{digest(text)[:8]}"
        rows.add_question(place, Question(name, text, row.scope), gold)
    if rows.gold and not any(one.type == ABSTRACT or one != Gold(type=one.type, hops=one.hops)
                             for one in rows.gold.values()):  # fmt: skip
        warn(f"{questions}: no question has gold (answers, evidence, options): nothing is scored.")


def _by_any_name(rows: Rows) -> dict[str, list[str]]:
    """The ids of the documents of each id, file, title and text, the first of these that has it."""
    named = {name: [name] for name in [*rows.files, *rows.documents]}
    for name_of in (lambda row: row.title, lambda row: squash(row.text)):
        others: dict[str, list[str]] = {}
        for document in rows.documents.values():
            others.setdefault(name_of(document), []).append(document.id)
        named = others | named
    return named


def _supporting(
    place: str, value: object, named: Mapping[str, list[str]], rows: Rows
) -> Iterator[str]:
    """Yield the ids; documents of one title are the parts of a file of that name."""
    columns = value.get("title") if isinstance(value, Mapping) else value  # the hub's parquet
    for item in columns if isinstance(columns, list) else [columns]:
        names = (
            [item[name] for name in _NAMES if name in item]
            if isinstance(item, dict)
            else [item[0] if isinstance(item, list) and item else item]
        )
        keys = [key for name in names for key in (str(name), squash(str(name))) if key in named]
        if not keys:
            raise UserError(f"{place}: {item!r:.80} is no id, title or text of a document.")
        documents = named[keys[0]]
        if len(documents) > 1:
            rows.files.setdefault(keys[0], documents)
        yield documents[0] if len(documents) == 1 else keys[0]
