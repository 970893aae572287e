"""PopQA: questions about one fact each, with passages that others retrieved for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from pydantic import AliasChoices, Field, field_validator

from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.readers.passages import by_content, passages, supporting
from graphrag_bench.data.rows import FileRow, Rows, json_list, read_text, shaped
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question


class _Paragraph(FileRow):
    title: str
    text: str = Field(validation_alias=AliasChoices("text", "paragraph_text"))
    is_supporting: bool = True


class _Question(FileRow):
    id: str
    question: str
    obj: str = ""
    prop: str = ""
    possible_answers: list[str]
    paragraphs: list[_Paragraph] = []

    @field_validator("possible_answers", mode="before")
    @classmethod
    def _list_as_text(cls, value: object) -> object:
        """The published table writes the list as JSON in a cell."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            raise ValueError(f"{value[:60]!r} is not a JSON list of answers") from None

    def gold(self, evidence: tuple[str, ...]) -> Gold:
        answers = [name for name in (*self.possible_answers, self.obj) if name.strip()]
        return Gold(tuple(dict.fromkeys(answers)), evidence, self.prop)


def popqa(corpus: Path, questions: Path) -> Rows:
    """PopQA questions with their `paragraphs` over a corpus, in HippoRAG's folder layout.

    Paragraphs support the question unless `is_supporting` says no. Source: Mallen et al. 2023;
    sampled, with passages, by Gutiérrez et al. 2025 (HippoRAG 2).
    """
    rows = passages(corpus)
    contents = by_content(rows)
    for place, row in json_list(questions, "question", _Question):
        marked = ((held.title, held.text) for held in row.paragraphs if held.is_supporting)
        rows.add_question(
            place, Question(row.id, row.question), row.gold(supporting(contents, marked))
        )
    return rows


def popqa_table(corpus: Path, questions: Path) -> Rows:
    """PopQA as published: `popQA.tsv`, over a corpus of your own (`corpus.json`: title, text).

    The table names no passage, so no question has evidence.
    """
    rows = passages(corpus)
    table = csv.DictReader(read_text(questions).splitlines(), delimiter="\t")
    if "question" not in (table.fieldnames or ()):
        raise UserError(f"{questions}: a first line with tab-separated names was expected.")
    for number, content in enumerate(table, start=2):
        place = f"{questions}, line {number}"
        row = shaped(place, {name: held for name, held in content.items() if name}, _Question)
        rows.add_question(place, Question(row.id, row.question), row.gold(()))
    return rows
