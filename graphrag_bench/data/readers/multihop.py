"""MuSiQue, HotpotQA and 2WikiMultihopQA, in HippoRAG's folder layout and as first published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, field_validator

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers.passages import (
    Contents,
    by_content,
    gathered,
    passages,
    squash,
    supporting,
)
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, OneOrSeveral, Rows, json_list
from graphrag_bench.values import Question


class _Answered(FileRow):
    answer: OneOrSeveral
    answer_aliases: list[str] = []

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.answer, *self.answer_aliases]))


class _Paragraph(FileRow):
    title: str
    paragraph_text: str = Field(validation_alias=AliasChoices("paragraph_text", "text"))
    is_supporting: bool = False


class _MusiqueQuestion(_Answered):
    id: str
    question: str
    paragraphs: list[_Paragraph]
    question_decomposition: list[Any] = []


def musique(corpus: Path, questions: Path) -> Rows:
    """MuSiQue questions (`paragraphs` with `is_supporting`) over a HippoRAG-style corpus."""
    rows = passages(corpus)
    contents = by_content(rows)
    for place, row in json_list(questions, "question", _MusiqueQuestion):
        _add_musique(rows, contents, place, row)
    return rows


def musique_original(corpus: Path, questions: Path) -> Rows:
    """MuSiQue as published (`musique_ans_v1.0_dev.jsonl`); the corpus is made of all paragraphs.

    Source: Trivedi et al. 2022; lines of id, paragraphs, question, question_decomposition, answer.
    """
    read = list(records(questions, _MusiqueQuestion))
    rows = gathered(
        (place, held.title, held.paragraph_text) for place, row in read for held in row.paragraphs
    )
    contents = by_content(rows)
    for place, row in read:
        _add_musique(rows, contents, place, row)
    return rows


def _add_musique(rows: Rows, contents: Contents, place: str, row: _MusiqueQuestion) -> None:
    marked = [held for held in row.paragraphs if held.is_supporting]
    evidence = supporting(contents, ((held.title, held.paragraph_text) for held in marked))
    hops = len(row.question_decomposition or marked)
    gold = Gold(row.answers, evidence, f"{hops}-hop", hops)
    rows.add_question(place, Question(row.id, row.question), gold)


class _HotpotQuestion(_Answered):
    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    question: str
    supporting_facts: list[tuple[str, int]]
    context: list[tuple[str, list[str]]] = []
    type: str = ""

    @field_validator("supporting_facts", "context", mode="before")
    @classmethod
    def _pairs_of_columns(cls, value: object) -> object:
        """The hub's parquet has columns where the first publication has pairs."""
        if not isinstance(value, Mapping):
            return value
        columns = [value.get(name) for name in ("title", "sent_id", "sentences")]
        given = [list(column) for column in columns if column is not None]
        return list(zip(*given, strict=True)) if len({len(one) for one in given}) == 1 else value


def hotpotqa(corpus: Path, questions: Path) -> Rows:
    """HotpotQA-style questions (`supporting_facts`, `context`) over a HippoRAG-style corpus.

    2WikiMultihopQA has the same shape. Where titles repeat, the text tells the passages apart.
    """
    rows = passages(corpus)
    by_title = _by_title(rows)
    for place, row in json_list(questions, "question", _HotpotQuestion):
        _add_hotpot(rows, by_title, place, row)
    return rows


def hotpotqa_original(corpus: Path, questions: Path) -> Rows:
    """HotpotQA or 2WikiMultihopQA as published; the corpus is made of all contexts.

    `hotpot_dev_distractor_v1.json`, 2Wiki's `dev.json`, or the hub's parquet files.
    Source: Yang et al. 2018; Ho et al. 2020.
    """
    read = list(records(questions, _HotpotQuestion))
    rows = gathered(
        (place, title, joined(sentences)) for place, row in read for title, sentences in row.context
    )
    by_title = _by_title(rows)
    for place, row in read:
        _add_hotpot(rows, by_title, place, row)
    return rows


def joined(sentences: Sequence[str]) -> str:
    """The sentences as one text, with a space between two that have none."""
    text = ""
    for sentence in sentences:
        apart = not text or text[-1].isspace() or sentence[:1].isspace()
        text += sentence if apart else f" {sentence}"
    return text


def _by_title(rows: Rows) -> Mapping[str, list[Document]]:
    found: Mapping[str, list[Document]] = defaultdict(list)
    for document in rows.documents.values():
        found[document.title].append(document)
    return found


def _add_hotpot(
    rows: Rows, by_title: Mapping[str, list[Document]], place: str, row: _HotpotQuestion
) -> None:
    texts = {title: squash("".join(sentences)) for title, sentences in row.context}
    evidence = []
    for title in dict.fromkeys(title for title, _ in row.supporting_facts):
        held = by_title.get(title, [])
        same = [found for found in held if squash(found.text) == texts.get(title)]
        chosen = (same or held)[:1]
        evidence.append(chosen[0].id if chosen else f"{title} (title not in corpus)")
    gold = Gold(row.answers, tuple(evidence), row.type, spans=tuple(_spans(row)))
    rows.add_question(place, Question(row.id, row.question), gold)


def _spans(row: _HotpotQuestion) -> Iterator[str]:
    sentences = dict(row.context)
    for title, number in row.supporting_facts:
        held = sentences.get(title, [])
        if 0 <= number < len(held) and held[number].strip():
            yield held[number].strip()
