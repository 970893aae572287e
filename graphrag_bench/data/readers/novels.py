"""Novels with questions: GraphRAG-Bench (novel and medical) and NovelQA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import AliasChoices, Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers.options import choice_gold, with_options
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, Rows, json_file, read_text, shaped
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question


class _Corpus(FileRow):
    corpus_name: str
    context: str


class _Benchmark(FileRow):
    id: str
    source: str
    question: str
    answer: str
    question_type: str = ""
    evidence: list[str] | str | None = None

    @property
    def statements(self) -> tuple[str, ...]:
        said = [self.evidence] if isinstance(self.evidence, str) else self.evidence or []
        return tuple(text.strip() for text in said if text.strip())


def graphragbench(corpus: Path, questions: Path) -> Rows:
    """GraphRAG-Bench: texts (corpus_name, context) and questions (id, source, answer, type).

    Each text is a scope, which `source` names. Its `evidence` are statements in other words than
    the text's, so that they are no spans. An id that a second text has too gets its name.
    Source: Xiang et al. 2025, `Datasets/Corpus` and `Datasets/Questions`.
    """
    rows = Rows()
    for place, text in records(corpus, _Corpus):
        name = text.corpus_name
        rows.add_document(place, Document(name, "", text.context, name))
    scopes = {name.casefold(): name for name in rows.documents}
    for place, row in records(questions, _Benchmark):
        scope = scopes.get(row.source.casefold())
        if scope is None:
            known = ", ".join([*rows.documents][:5])
            raise UserError(f"{place}: no text is named '{row.source}'; there are: {known}.")
        name = f"{row.id} ({row.source})" if row.id in rows.questions else row.id
        answers = (row.answer,) if row.answer.strip() else ()
        gold = Gold(answers, type=row.question_type, statements=row.statements)
        rows.add_question(place, Question(name, row.question, scope), gold)
    return rows


class _NovelQuestion(FileRow):
    question: str = Field(validation_alias="Question")
    options: dict[str, str | None] = Field({}, validation_alias="Options")
    complexity: str | None = Field(None, validation_alias=AliasChoices("Complexity", "Complex"))
    gold: str | None = Field(None, validation_alias="Gold")
    evidences: list[str] | None = Field(None, validation_alias="Evidences")


def novelqa(corpus: Path, questions: Path) -> Rows:
    """NovelQA: a folder of novels (`Books/**/*.txt`) and one of questions (`Data/**/*.json`).

    A JSON file has the name of its novel, which is the scope, and holds a list of questions with
    QID, or an object of them by QID. Types are the complexities. The right letter (`Gold`) and the
    evidence are published for some novels only; where they are given, evidence becomes spans.
    Source: Wang et al. 2024.
    """
    rows = Rows()
    for book in _files(corpus, "*.txt"):
        rows.add_document(str(book), Document(book.stem, "", read_text(book), book.stem))
    for file in _files(questions, "*.json"):
        if file.stem not in rows.documents:
            raise UserError(f"{file}: there is no novel '{file.stem}.txt' below {corpus}.")
        for place, qid, row in _asked(file):
            options = {name: text for name, text in row.options.items() if text}
            if row.gold and row.gold not in options:
                letters = ", ".join(options) or "none"
                raise UserError(f"{place}: Gold is '{row.gold}', the options are {letters}.")
            correct = list(options).index(row.gold) if row.gold else None
            gold = choice_gold(place, list(options.values()), correct, row.complexity or "")
            gold = replace(gold, spans=tuple(row.evidences or ()))
            text = with_options(row.question, list(options.values()))
            rows.add_question(place, Question(f"{file.stem}/{qid}", text, file.stem), gold)
    return rows


def _files(folder: Path, pattern: str) -> list[Path]:
    if found := sorted(folder.rglob(pattern)):
        return found
    raise UserError(f"There is no {pattern} below '{folder}'.")


def _asked(file: Path) -> Iterator[tuple[str, str, _NovelQuestion]]:
    content = json_file(file)
    named: list[tuple[str, object]]
    if isinstance(content, Mapping):
        named = list(content.items())
    else:
        rows = content if isinstance(content, list) else [content]
        named = [
            (str(row.get("QID", at) if isinstance(row, Mapping) else at), row)
            for at, row in enumerate(rows, start=1)
        ]
    for qid, row in named:
        place = f"{file}, {qid}"
        yield place, qid, shaped(place, row, _NovelQuestion)
