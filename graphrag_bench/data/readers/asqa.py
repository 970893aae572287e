"""ALCE's ASQA: ambiguous questions whose long answers cover several short ones."""

from __future__ import annotations

from pathlib import Path

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, Rows
from graphrag_bench.values import Question


class _Retrieved(FileRow):
    id: str
    title: str = ""
    text: str


class _Pair(FileRow):
    short_answers: list[str]


class _Asqa(FileRow):
    sample_id: str
    question: str
    qa_pairs: list[_Pair] = []
    docs: list[_Retrieved] = []


def alce_asqa(corpus: Path, questions: Path) -> Rows:
    """ASQA in ALCE's shape; the corpus are the passages that it retrieved for all questions.

    `sub_answers` has the short answers of every question-answer pair, `answers` all of them
    together. No passage is marked as evidence. Source: Gao et al. 2023 (ALCE), file
    `asqa_eval_gtr_top100.json`; Stelmakh et al. 2022 (ASQA).
    """
    rows = Rows()
    for place, row in records(questions, _Asqa):
        for passage in row.docs:
            if passage.id not in rows.documents:
                document = Document(passage.id, passage.title, passage.text)
                rows.add_document(f"{place}, passage {passage.id}", document)
        parts = tuple(tuple(_given(pair.short_answers)) for pair in row.qa_pairs)
        answers = tuple(dict.fromkeys(name for part in parts for name in part))
        gold = Gold(answers, sub_answers=tuple(part for part in parts if part))
        rows.add_question(place, Question(row.sample_id, row.question), gold)
    return rows


def _given(names: list[str]) -> list[str]:
    return [name for name in names if name.strip()]
