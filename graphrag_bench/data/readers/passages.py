"""Sets of questions over many passages: MuSiQue, HotpotQA, 2WikiMultihopQA, PopQA, ASQA and others.

HippoRAG's folders hold a corpus (`corpus.json`: title, text) beside the questions; of the sets as
first published the corpus is made of the passages of all questions.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, field_validator

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.rows import (
    FileRow,
    OneOrSeveral,
    Rows,
    json_list,
    not_blank,
    read_text,
    records,
    shaped,
)
from graphrag_bench.errors import UserError
from graphrag_bench.text import squash
from graphrag_bench.values import Question

_OR = "|"
"""The separator of several answers in one text of Zhou et al."""


class _Passage(FileRow):
    title: str = ""
    text: str


def _passages(corpus: Path) -> Rows:
    rows = Rows()
    for place, row in json_list(corpus, "passage", _Passage):
        rows.number(place, row.title, row.text)
    return rows


def _distinct(contexts: Iterable[tuple[str, str, str]]) -> Rows:
    rows = Rows()
    known: set[tuple[str, str]] = set()
    for place, title, text in contexts:
        if (content := (title, squash(text))) not in known:
            known.add(content)
            rows.number(f"{place}, passage {len(rows.documents)}", title, text)
    return rows


class _Paragraph(FileRow):
    title: str
    text: str = Field(validation_alias=AliasChoices("paragraph_text", "text"))
    is_supporting: bool | None = None


class _Supporting:
    """The ids of passages by title and squashed text; of equal ones the last."""

    def __init__(self, rows: Rows) -> None:
        self._ids = {(row.title, squash(row.text)): row.id for row in rows.documents.values()}

    def ids(self, paragraphs: Iterable[_Paragraph]) -> tuple[str, ...]:
        """Each id once; words that name a missing passage."""
        found = [
            self._ids.get((one.title, squash(one.text)), f"{one.title} (paragraph not in corpus)")
            for one in paragraphs
        ]
        return tuple(dict.fromkeys(found))


class _Answered(FileRow):
    answer: OneOrSeveral
    answer_aliases: list[str] = []

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.answer, *self.answer_aliases]))


class _MusiqueQuestion(_Answered):
    id: str
    question: str
    paragraphs: list[_Paragraph]
    question_decomposition: list[Any] = []


def musique(corpus: Path, questions: Path) -> Rows:
    """Return MuSiQue questions (`paragraphs` with `is_supporting`) over a HippoRAG-style corpus."""
    return _with_musique(_passages(corpus), json_list(questions, "question", _MusiqueQuestion))


def musique_original(corpus: Path, questions: Path) -> Rows:
    """Return MuSiQue as published (`musique_ans_v1.0_dev.jsonl`), over all paragraphs.

    Source: Trivedi et al. 2022; lines of id, paragraphs, question, question_decomposition, answer.
    """
    read = list(records(questions, _MusiqueQuestion))
    rows = _distinct((place, one.title, one.text) for place, row in read for one in row.paragraphs)
    return _with_musique(rows, read)


def _with_musique(rows: Rows, read: Iterable[tuple[str, _MusiqueQuestion]]) -> Rows:
    supporting = _Supporting(rows)
    for place, row in read:
        marked = [one for one in row.paragraphs if one.is_supporting]
        hops = len(row.question_decomposition or marked)
        gold = Gold(row.answers, supporting.ids(marked), f"{hops}-hop", hops)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


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
        named = [value.get(name) for name in ("title", "sent_id", "sentences")]
        columns = [list(column) for column in named if column is not None]
        return list(zip(*columns, strict=True)) if len(set(map(len, columns))) == 1 else value


def hotpotqa(corpus: Path, questions: Path) -> Rows:
    """Return HotpotQA-style questions (`supporting_facts`, `context`) over HippoRAG's corpus.

    2WikiMultihopQA has the same shape. Where titles repeat, the text tells the passages apart.
    """
    return _with_hotpot(_passages(corpus), json_list(questions, "question", _HotpotQuestion))


def hotpotqa_original(corpus: Path, questions: Path) -> Rows:
    """Return HotpotQA or 2WikiMultihopQA as published, over the passages of all contexts.

    `hotpot_dev_distractor_v1.json`, 2Wiki's `dev.json`, or the hub's parquet files. Sentences
    become one text, with a space between two that have none.
    Source: Yang et al. 2018; Ho et al. 2020.
    """
    read = list(records(questions, _HotpotQuestion))
    contexts = ((place, *context) for place, row in read for context in row.context)
    return _with_hotpot(_distinct((p, title, _joined(parts)) for p, title, parts in contexts), read)


def _joined(sentences: Iterable[str]) -> str:
    text = ""
    for sentence in sentences:
        apart = not text or text[-1].isspace() or sentence[:1].isspace()
        text += sentence if apart else f" {sentence}"
    return text


def _with_hotpot(rows: Rows, read: Iterable[tuple[str, _HotpotQuestion]]) -> Rows:
    titled: dict[str, list[Document]] = defaultdict(list)
    for document in rows.documents.values():
        titled[document.title].append(document)
    for place, row in read:
        texts = {title: squash("".join(sentences)) for title, sentences in row.context}
        evidence = []
        for title in dict.fromkeys(title for title, _ in row.supporting_facts):
            near = titled.get(title, [])
            same = [one for one in near if squash(one.text) == texts.get(title)]
            best = (same or near)[:1]
            evidence.append(best[0].id if best else f"{title} (title not in corpus)")
        gold = Gold(row.answers, tuple(evidence), row.type, spans=tuple(_spans(row)))
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


def _spans(row: _HotpotQuestion) -> Iterator[str]:
    contexts = dict(row.context)
    for title, number in row.supporting_facts:
        sentences = contexts.get(title, [])
        if 0 <= number < len(sentences) and sentences[number].strip():
            yield sentences[number].strip()


class _PopQuestion(FileRow):
    id: str
    question: str
    obj: str = ""
    prop: str = ""
    possible_answers: list[str]
    paragraphs: list[_Paragraph] = []

    @field_validator("possible_answers", mode="before")
    @classmethod
    def _list_as_text(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            raise ValueError(f"{value[:60]!r} is not a JSON list of answers") from None

    def gold(self, evidence: tuple[str, ...]) -> Gold:
        return Gold(not_blank([*self.possible_answers, self.obj]), evidence, self.prop)


def popqa(corpus: Path, questions: Path) -> Rows:
    """Return PopQA questions with their `paragraphs` over a corpus, in HippoRAG's folder layout.

    Paragraphs support the question unless `is_supporting` says no. Source: Mallen et al. 2023;
    sampled, with passages, by Gutiérrez et al. 2025 (HippoRAG 2).
    """
    rows = _passages(corpus)
    supporting = _Supporting(rows)
    for place, row in json_list(questions, "question", _PopQuestion):
        marked = (one for one in row.paragraphs if one.is_supporting is not False)
        gold = row.gold(supporting.ids(marked))
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


def popqa_table(corpus: Path, questions: Path) -> Rows:
    """Return PopQA as published: `popQA.tsv`, over a corpus of your own (`corpus.json`).

    The table names no passage, so no question has evidence.
    """
    rows = _passages(corpus)
    table = csv.DictReader(read_text(questions).splitlines(), delimiter="\t")
    if "question" not in (table.fieldnames or ()):
        raise UserError(f"{questions}: a first line with tab-separated names was expected.")
    for number, content in enumerate(table, start=2):
        place = f"{questions}, line {number}"
        cells = {name: cell for name, cell in content.items() if name}
        row = shaped(place, cells, _PopQuestion)
        rows.add_question(place, Question(row.id, row.question), row.gold(()))
    return rows


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
    """Return ASQA in ALCE's shape; the corpus are the passages that it retrieved for all questions.

    `sub_answers` has the short answers of every question-answer pair, `answers` all of them
    together. No passage is marked as evidence. Source: Gao et al. 2023 (ALCE), file
    `asqa_eval_gtr_top100.json`; Stelmakh et al. 2022 (ASQA).
    """
    rows = Rows()
    for place, row in records(questions, _Asqa):
        for one in row.docs:
            if one.id not in rows.documents:
                document = Document(one.id, one.title, one.text)
                rows.add_document(f"{place}, passage {one.id}", document)
        parts = [tuple(n for n in pair.short_answers if n.strip()) for pair in row.qa_pairs]
        answers = tuple(dict.fromkeys(name for part in parts for name in part))
        gold = Gold(answers, sub_answers=tuple(filter(None, parts)))
        rows.add_question(place, Question(row.sample_id, row.question), gold)
    return rows


class _Article(FileRow):
    title: str
    body: str
    url: str = ""


class _Fact(FileRow):
    title: str = ""
    url: str = ""
    fact: str = ""


class _Query(FileRow):
    query: str
    answer: str
    question_type: str = ""
    evidence_list: list[_Fact] = []


def multihoprag(corpus: Path, questions: Path) -> Rows:
    """Return MultiHop-RAG: `corpus.json` (news) and `MultiHopRAG.json` (queries); ids are numbers.

    The evidence are the articles of the facts, by url or else by title, and the facts are spans. A
    null query has neither; its answer says that there is not enough information. Queries over n
    articles have n hops. Source: Tang and Yang 2024.
    """
    rows = Rows()
    by_name: dict[str, str] = {}
    for place, article in records(corpus, _Article):
        number = rows.number(place, article.title, article.body)
        for name in (article.url, article.title):
            by_name.setdefault(name.strip(), number)
    by_name.pop("", None)
    for place, row in records(questions, _Query):
        articles = [
            by_name.get(fact.url.strip())
            or by_name.get(fact.title.strip(), f"{fact.title} (article not in corpus)")
            for fact in row.evidence_list
        ]
        evidence = tuple(dict.fromkeys(articles))
        spans = tuple(fact.fact.strip() for fact in row.evidence_list if fact.fact.strip())
        gold = Gold((row.answer,), evidence, row.question_type, len(evidence) or None, spans=spans)
        rows.add_question(place, Question(str(len(rows.questions)), row.query), gold)
    return rows


class _Text(FileRow):
    title: str = ""
    context: str


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
    """Return a set as Zhou et al. 2025 prepared it: Corpus.json and Question.json.

    Lines of title and context, and of question and answer; ids are row numbers. Several answers
    are one text with `|` between them, and any of them counts; the qa_pairs of ASQA become
    sub-answers. Evidence is not given. Source: Data/QueryDataset.py of their repository.
    """
    rows = Rows()
    for place, text in records(corpus, _Text):
        rows.number(place, text.title, text.context)
    for place, row in records(questions, _ZhouQuestion):
        parts = (tuple(name for name in pair.short_answers if name) for pair in row.qa_pairs)
        gold = Gold(not_blank(row.answer), sub_answers=tuple(filter(None, parts)))
        rows.add_question(place, Question(str(len(rows.questions)), row.question), gold)
    return rows
