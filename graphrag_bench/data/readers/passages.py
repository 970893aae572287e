"""Readers of data sets with many short passages: MuSiQue, HotpotQA, 2WikiMultihopQA, PopQA, ..."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BeforeValidator, Field, field_validator

from graphrag_bench.data.dataset import ABSTRACT, Document, Gold
from graphrag_bench.data.rows import FileRow, OneOrSeveral, Rows, not_blank, records
from graphrag_bench.text import without_spaces
from graphrag_bench.values import Question


class _Passage(FileRow):
    title: str = ""
    text: str = Field(validation_alias=AliasChoices("text", "paragraph_text", "context", "body"))
    is_supporting: bool | None = None
    url: str = ""

    @property
    def content(self) -> tuple[str, str]:
        return self.title, without_spaces(self.text)


@dataclass
class _PassageRows(Rows):
    """Numbered documents. `ids` maps a title and a text to the number of the last such document."""

    ids: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, corpus: Path, questions: Path | None = None, passages: Iterable[_Passage] = ()
    ) -> "_PassageRows":
        """Read the corpus file. If it is also the questions file, use the distinct `passages`."""
        rows, own = cls(), corpus != questions
        for one in (passage for _, passage in records(corpus, _Passage)) if own else passages:
            if own or one.content not in rows.ids:
                rows.ids[one.content] = rows.add_numbered(one.title, one.text)
        return rows

    def add_numbered(self, title: str, text: str) -> str:
        number = str(len(self.documents))
        self.documents[number] = Document(number, title, text)
        return number

    def evidence(self, passages: Iterable[_Passage]) -> tuple[str, ...]:
        absent = "(paragraph not in corpus)"
        return not_blank([self.ids.get(one.content, f"{one.title} {absent}") for one in passages])


class _Asked(FileRow):
    question: str


class _Answered(_Asked):
    id: str = Field(validation_alias=AliasChoices("id", "_id"))
    answer: OneOrSeveral
    answer_aliases: list[str] = []

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.answer, *self.answer_aliases]))


class _MusiqueQuestion(_Answered):
    paragraphs: list[_Passage]
    question_decomposition: list[Any] = []


def musique(corpus: Path, questions: Path) -> Rows:
    """Read MuSiQue. The questions file can also be the corpus. Source: Trivedi et al. 2022."""
    read = list(records(questions, _MusiqueQuestion))
    rows = _PassageRows.of(corpus, questions, (one for _, row in read for one in row.paragraphs))
    for place, row in read:
        marked = [one for one in row.paragraphs if one.is_supporting]
        hops = len(row.question_decomposition or marked)
        gold = Gold(row.answers, rows.evidence(marked), f"{hops}-hop", hops)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


class _HotpotQuestion(_Answered):
    supporting_facts: list[tuple[str, int]]
    context: list[tuple[str, list[str]]] = []
    type: str = ""

    @field_validator("supporting_facts", "context", mode="before")
    @classmethod
    def _pairs_of_columns(cls, value: object) -> object:
        """Convert the columns of the hub's parquet files to the pairs of the JSON files."""
        if not isinstance(value, Mapping):
            return value
        names = ("title", "sent_id", "sentences")
        columns = [list(value[name]) for name in names if value.get(name) is not None]
        return list(zip(*columns, strict=True)) if len(set(map(len, columns))) == 1 else value


def hotpotqa(corpus: Path, questions: Path) -> Rows:
    """Read HotpotQA or 2WikiMultihopQA. A supporting fact names its passage by the title.

    If several passages have this title, the evidence is the passage in the question's context. If
    the questions file is also the corpus, the corpus consists of the passages of all contexts.
    Source: Yang et al. 2018; Ho et al. 2020.
    """
    read = list(records(questions, _HotpotQuestion))
    contexts = (context for _, row in read for context in row.context)
    passages = (_Passage(title=title, text=_joined(sentences)) for title, sentences in contexts)
    rows = _PassageRows.of(corpus, questions, passages)
    titled: dict[str, list[Document]] = defaultdict(list)
    for document in rows.documents.values():
        titled[document.title].append(document)
    for place, row in read:
        context, evidence = dict(row.context), []
        for title in dict.fromkeys(title for title, _ in row.supporting_facts):
            text = without_spaces("".join(context.get(title, ())))
            near = sorted(titled[title], key=lambda one: without_spaces(one.text) != text)
            evidence.append(near[0].id if near else f"{title} (title not in corpus)")
        named = (context.get(title, ())[n : n + 1] for title, n in row.supporting_facts if n >= 0)
        spans = tuple(filter(None, (one.strip() for sentences in named for one in sentences)))
        gold = Gold(row.answers, tuple(evidence), row.type, spans=spans)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


def _joined(sentences: Iterable[str]) -> str:
    text = ""
    for sentence in sentences:
        apart = not text or text[-1].isspace() or sentence[:1].isspace()
        text += sentence if apart else f" {sentence}"
    return text


class _PopQuestion(_Asked):
    id: str
    obj: str = ""
    prop: str = ""
    possible_answers: Annotated[
        list[str], BeforeValidator(lambda one: json.loads(one) if isinstance(one, str) else one)
    ]
    paragraphs: list[_Passage] = []


def popqa(corpus: Path, questions: Path) -> Rows:
    """Read PopQA, from files in HippoRAG's layout or from `popQA.tsv` and a corpus of your own.

    `popQA.tsv` has no evidence. Source: Mallen et al. 2023; Gutiérrez et al. 2025 (HippoRAG 2).
    """
    rows = _PassageRows.of(corpus)
    for place, row in records(questions, _PopQuestion):
        marked = rows.evidence(one for one in row.paragraphs if one.is_supporting is not False)
        gold = Gold(not_blank([*row.possible_answers, row.obj]), marked, row.prop)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


class _NaturalQuestion(_Asked):
    reference: list[str]
    contexts: list[_Passage]


def nq(corpus: Path, questions: Path) -> Rows:
    """Read Natural Questions in HippoRAG 2's layout. Source: Kwiatkowski et al. 2019."""
    rows = _PassageRows.of(corpus)
    for place, row in records(questions, _NaturalQuestion):
        marked = (one for one in row.contexts if one.is_supporting)
        gold = Gold(not_blank(row.reference), rows.evidence(marked))
        rows.add_question(place, Question("", row.question), gold)
    return rows


class _Retrieved(_Passage):
    id: str


class _Pair(FileRow):
    short_answers: list[str]


class _InParts(_Asked):
    qa_pairs: list[_Pair] = []

    @property
    def sub_answers(self) -> tuple[tuple[str, ...], ...]:
        parts = (tuple(filter(str.strip, pair.short_answers)) for pair in self.qa_pairs)
        return tuple(filter(None, parts))


class _Asqa(_InParts):
    sample_id: str
    docs: list[_Retrieved] = []


def alce_asqa(corpus: Path, questions: Path) -> Rows:
    """Read ASQA in ALCE's format. The corpus consists of the passages that ALCE retrieved.

    Source: Gao et al. 2023 (ALCE), `asqa_eval_gtr_top100.json`; Stelmakh et al. 2022 (ASQA).
    """
    rows = Rows()
    for place, row in records(questions, _Asqa):
        for one in row.docs:
            rows.documents.setdefault(one.id, Document(one.id, one.title, one.text))
        gold = Gold(not_blank([*chain(*row.sub_answers)]), sub_answers=row.sub_answers)
        rows.add_question(place, Question(row.sample_id, row.question), gold)
    return rows


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
    """Read MultiHop-RAG: `corpus.json` (news articles) and `MultiHopRAG.json` (queries).

    Null queries have no evidence. Their answer is `Insufficient information.`
    Source: Tang and Yang 2024.
    """
    rows, by_name = _PassageRows(), dict[str, str]()
    for _, article in records(corpus, _Passage):
        number = rows.add_numbered(article.title, article.text)
        for name in not_blank([article.url, article.title]):
            by_name.setdefault(name.strip(), number)
    for place, row in records(questions, _Query):
        articles = dict.fromkeys(
            by_name.get(one.url.strip())
            or by_name.get(one.title.strip(), f"{one.title} (article not in corpus)")
            for one in row.evidence_list
        )
        spans = tuple(filter(None, (fact.fact.strip() for fact in row.evidence_list)))
        hops = len(articles) or None
        gold = Gold((row.answer,), tuple(articles), row.question_type, hops, spans=spans)
        rows.add_question(place, Question("", row.query), gold)
    return rows


class _ZhouQuestion(_InParts):
    answer: list[str] = []

    @field_validator("answer", mode="before")
    @classmethod
    def _parts(cls, value: object) -> object:
        if isinstance(value, str | int | float):
            return [part.strip() for part in str(value).split("|")]
        return [] if value is None else value


def zhou2025(corpus: Path, questions: Path) -> Rows:
    """Read the data format of Zhou et al. 2025. Source: their code, Data/QueryDataset.py."""
    rows = _PassageRows.of(corpus)
    for place, row in records(questions, _ZhouQuestion):
        gold = Gold(not_blank(row.answer), sub_answers=row.sub_answers)
        rows.add_question(place, Question("", row.question), gold)
    return rows


class _Abstract(_Asked):
    answer: str = ""


def ultradomain(corpus: Path, questions: Path) -> Rows:
    """Read abstract questions about a domain of UltraDomain. The documents have no titles."""
    rows = _PassageRows.of(corpus)
    for place, row in records(questions, _Abstract):
        gold = Gold(not_blank([row.answer]), type=ABSTRACT)
        rows.add_question(place, Question("", row.question), gold)
    return rows


class _Published(FileRow):
    question: str = Field(validation_alias=AliasChoices("input", "question"))
    context: str
    answers: list[str] = []
    title: str | None = Field(None, validation_alias=AliasPath("meta", "title"))


def ultradomain_original(corpus: Path, questions: Path) -> Rows:
    """Read a domain of UltraDomain with its published questions, whose contexts are the evidence.

    The distinct contexts are the corpus, as in LightRAG. Source: Qian et al. 2024 (MemoRAG).
    """
    rows, numbers = _PassageRows(), dict[str, str]()
    for place, row in records(questions, _Published):
        if row.context not in numbers:
            numbers[row.context] = rows.add_numbered((row.title or "").strip(), row.context)
        gold = Gold(not_blank(row.answers), (numbers[row.context],))
        rows.add_question(place, Question("", row.question), gold)
    return rows
