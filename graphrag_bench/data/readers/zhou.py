"""The sets as Zhou et al. 2025 prepared them: Corpus.json and Question.json."""

from __future__ import annotations

from pathlib import Path

from pydantic import field_validator

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, Rows
from graphrag_bench.values import Question

_OR = "|"
"""The separator of several answers in one text."""


class _Text(FileRow):
    title: str = ""
    context: str


class _Pair(FileRow):
    short_answers: list[str]


class _ZhouQuestion(FileRow):
    question: str
    answer: list[str] = []
    qa_pairs: list[_Pair] = []

    @field_validator("answer", mode="before")
    @classmethod
    def _parts(cls, value: object) -> object:
        if isinstance(value, str | int | float):
            return [part.strip() for part in str(value).split(_OR)]
        return [] if value is None else value


def zhou2025(corpus: Path, questions: Path) -> Rows:
    """Lines of title and context, and of question and answer; ids are row numbers.

    Several answers are one text with `|` between them, and any of them counts; the qa_pairs
    of ASQA become sub-answers. Evidence is not given.
    Source: Data/QueryDataset.py of their repository.
    """
    rows = Rows()
    for place, text in records(corpus, _Text):
        rows.add_document(place, Document(str(len(rows.documents)), text.title, text.context))
    for place, row in records(questions, _ZhouQuestion):
        answers = tuple(dict.fromkeys(answer for answer in row.answer if answer.strip()))
        parts = (tuple(name for name in pair.short_answers if name) for pair in row.qa_pairs)
        gold = Gold(answers, sub_answers=tuple(part for part in parts if part))
        rows.add_question(place, Question(str(len(rows.questions)), row.question), gold)
    return rows
