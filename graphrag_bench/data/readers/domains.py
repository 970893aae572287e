"""UltraDomain: long texts of one field with questions, as published and as others prepared it."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, Rows, json_lines, json_list
from graphrag_bench.values import Question


class _Text(FileRow):
    context: str


class _Abstract(FileRow):
    question: str
    answer: str = ""


def ultradomain(corpus: Path, questions: Path) -> Rows:
    """Rows of UltraDomain: `context` on each line of the corpus, and a list of questions.

    Ids are row numbers; documents have no title, the questions are abstract, and an empty answer
    is none.
    """
    rows = Rows()
    for place, document in json_lines(corpus, _Text):
        rows.add_document(place, Document(str(len(rows.documents)), "", document.context))
    for place, asked in json_list(questions, "question", _Abstract):
        answers = (asked.answer,) if asked.answer.strip() else ()
        question = Question(str(len(rows.questions)), asked.question)
        rows.add_question(place, question, Gold(answers, type="abstract"))
    return rows


class _Meta(FileRow):
    title: str | None = None


class _Published(FileRow):
    question: str = Field(validation_alias=AliasChoices("input", "question"))
    context: str
    answers: list[str] = []
    meta: _Meta = _Meta()


def ultradomain_original(corpus: Path, questions: Path) -> Rows:
    """One field of UltraDomain as published: lines of input, answers, context and meta.

    The corpus are the different contexts in order, as in LightRAG's preparation; ids are row
    numbers, and a question's evidence is its context. Source: Qian et al. 2024 (MemoRAG).
    """
    rows = Rows()
    numbers: dict[str, str] = {}
    for place, row in records(questions, _Published):
        if row.context not in numbers:
            number = numbers[row.context] = str(len(numbers))
            title = (row.meta.title or "").strip()
            rows.add_document(f"{place}, context", Document(number, title, row.context))
        answers = tuple(answer for answer in row.answers if answer.strip())
        gold = Gold(answers, (numbers[row.context],))
        rows.add_question(place, Question(str(len(rows.questions)), row.question), gold)
    return rows
