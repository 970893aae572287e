"""A data set: its card, documents, questions, and gold answers, which operators never see."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.files import project_folder, read_yaml
from graphrag_bench.fingerprint import digest, digest_rows
from graphrag_bench.prompts import FormName, answer_form
from graphrag_bench.text import show_briefly
from graphrag_bench.values import Question

QUESTIONS = "questions.jsonl"
"""The file of questions in the project's own format."""
UNKNOWN = "unknown"
"""The value of an unchecked checksum or revision in a card."""
DEFAULT_FORM = "default"
ABSTRACT = "abstract"
"""The type of questions about a whole corpus, which `graphrag-bench questions` makes."""
COLLECTIONS = {"beir": ("name", "split"), "ir_datasets": ("name",)}
"""Cards that stand for many data sets, with the settings that choose one of them."""
Split = Literal["all", "dev", "test"]
DEV_SHARE = 0.5
"""The default share of the dev split, on which settings may be chosen."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Download(_Part):
    """A file to download: `path` in a data set of the hub (may be a pattern), or `url`.

    `hub` is the name of that data set, if it is not the data set of the source. `to` is the name of
    the file on disk (default: its published name), or a folder if it ends with a slash. `size`
    (bytes) and `sha256` are checked. `members` selects the files to extract from an archive: it
    maps patterns of member names to names on disk ("" keeps the last part of the member's name).
    """

    path: str = ""
    hub: str = ""
    url: str = ""
    to: str = ""
    size: int | None = None
    sha256: str = UNKNOWN
    members: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_place(self) -> "Download":
        if bool(self.path) == bool(self.url):
            raise ValueError("a download needs either a path in the hub's data set or a url")
        return self


class Source(_Part):
    """Where a published data set comes from.

    `hub` is the name of the data set on the Hugging Face hub. `by_hand` says how to get a data set
    that cannot be downloaded.
    """

    url: str
    hub: str = ""
    revision: str = UNKNOWN
    downloads: list[Download] = []
    by_hand: str = ""


class Layout(_Part):
    """The published files of a data set, and the reader for them."""

    reader: str
    files: dict[str, str]
    note: str = ""


class Card(_Part):
    """`datasets/<name>/card.yaml`: identity, licence, file layouts and expected size of a set.

    `made_by` is the dotted name of the function that makes a synthetic set. `verified` says whether
    the layout was checked against original files; `checked` names these files. `counts` are the
    numbers of documents and questions that the publisher or `counts_from` states. `answers` is the
    answer form of all questions, or maps question types, and `default`, to answer forms. `abstract`
    says whether the questions are about the whole corpus. By default they are if the card has a
    single answer form and this form is prose.
    """

    name: str
    title: str
    task: str
    license: str
    citation: str
    source: Source | None = None
    verified: bool = True
    checked: str = ""
    reader: str = ""
    made_by: str = ""
    files: dict[str, str] = {}
    layouts: list[Layout] = []
    chunking: Literal["presplit", "token", "separator"] = "presplit"
    counts: dict[str, int] = {}
    counts_from: str = ""
    pinned: dict[str, dict[int, str]] = {}
    answers: FormName | dict[str, FormName] = "short"
    abstract: bool | None = None
    metrics: list[str] = []
    known_problems: list[str] = []
    contamination: str = ""

    @field_validator("answers")
    @classmethod
    def _with_default(cls, value: FormName | dict[str, FormName]) -> object:
        if isinstance(value, dict) and DEFAULT_FORM not in value:
            raise ValueError(f"answers by type need a '{DEFAULT_FORM}' for the other types")
        return value

    def form_of(self, question_type: str) -> FormName:
        """Return the answer form of a question type; abstract questions default to a paragraph."""
        forms = self.answers if isinstance(self.answers, dict) else {DEFAULT_FORM: self.answers}
        by_type: dict[str, FormName] = {ABSTRACT: "paragraph", **forms}
        return by_type.get(question_type, by_type[DEFAULT_FORM])

    def abstract_type(self, question_type: str) -> bool | None:
        """Return whether questions of a type are abstract; None if the answer form decides."""
        if question_type == ABSTRACT:
            return True
        if self.abstract is None and isinstance(self.answers, str):
            return answer_form(self.answers).prose
        return self.abstract

    @property
    def shapes(self) -> list[Layout]:
        """The file layouts that the data set may have, main layout first; [] if it is synthetic."""
        own = Layout(reader=self.reader, files=self.files)
        return [] if self.made_by else [own, *self.layouts]


def card_names() -> list[str]:
    """Return the sorted names of all data sets that have a card."""
    return sorted(path.parent.name for path in project_folder("datasets").glob("*/card.yaml"))


def load_card(name: str) -> Card:
    """Return the card of a data set; raises UserError for an unknown name or an invalid card."""
    path = project_folder("datasets").resolve() / name / "card.yaml"
    if not path.is_file():
        raise unknown("dataset", name, card_names())
    try:
        return Card.model_validate(read_yaml(path.read_text(encoding="utf-8"), str(path)))
    except ValidationError as error:
        raise UserError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Document:
    """A document of the corpus.

    `scope` is the part of the corpus that it belongs to, e.g. a book; `aliases` are other titles.
    """

    id: str
    title: str
    text: str
    scope: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def passage(self) -> str:
        """The title and text on separate lines, or the text if the document has no title."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Gold:
    """Gold of a question: alternative `answers`, and the document ids of the `evidence`.

    `grades` is the relevance of each evidence item, 1 or more; () means that all are 1.
    For questions over a graph, `answer_entities` are the answer nodes, and `in_graph` says whether
    the question's subgraph has one of them. `spans` are sentences of the text that state the
    answer; `statements` are sentences that paraphrase the evidence. A multiple-choice question has
    `options`; `correct` is the index of the right option. If an answer must have several parts,
    `sub_answers` has the aliases of each part. Evidence may name a file instead of a document. Then
    any document of the file counts, and `parts` maps the file to its documents.
    """

    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    type: str = ""
    hops: int | None = None
    entities: tuple[str, ...] = ()
    answer_entities: tuple[str, ...] = ()
    in_graph: bool | None = None
    spans: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    correct: int | None = None
    sub_answers: tuple[tuple[str, ...], ...] = ()
    statements: tuple[str, ...] = ()
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    grades: tuple[int, ...] = ()

    @property
    def graded(self) -> dict[str, int]:
        """The relevance grade of each evidence item."""
        return dict(zip(self.evidence, self.grades or [1] * len(self.evidence), strict=True))


def item_documents(gold: Gold, evidence: str) -> tuple[str, ...]:
    """Return the documents of an evidence item: the document itself, or all documents of a file."""
    return dict(gold.parts).get(evidence, (evidence,))


def evidence_name(gold: Gold, document: str) -> str:
    """Return the evidence item that a document belongs to: its file, or else the document."""
    return next((file for file, documents in gold.parts if document in documents), document)


def evidence_names(gold: Gold, documents: Sequence[str]) -> list[str]:
    """Return the evidence items that documents belong to, in the order of the documents.

    If several of the documents belong to one evidence file, the name of the file replaces the first
    of them, and the others keep their own ids.
    """
    names: dict[str, None] = {}
    for document in documents:
        name = evidence_name(gold, document)
        names[document if name in names else name] = None
    return list(names)


@dataclass(frozen=True)
class Dataset:
    """A data set: its documents, its questions, and the gold of each question.

    `settings` are the non-default settings of a synthetic data set, or the settings that chose a
    data set in a collection. `subgraphs` are the triples of the documents. `training` and
    `validation` are files of questions on which scorers are trained. `questions_file` is a file
    whose questions replace the published questions. `gold_error` is an error in the gold that makes
    scoring impossible. `notes` say how many questions have gold that is not in the corpus.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]
    card: Card
    openie: Path | None = None
    root: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    subgraphs: Subgraphs | None = None
    training: Path | None = None
    validation: Path | None = None
    questions_file: Path | None = None
    gold_error: str = ""
    notes: tuple[str, ...] = ()

    @property
    def question_set(self) -> str:
        """The name of the questions file or its folder, or else the split of a collection."""
        file = self.questions_file
        if file is None:
            return str(self.settings.get("split", ""))
        return file.resolve().parent.name if file.name == QUESTIONS else file.stem

    @property
    def corpus_name(self) -> str:
        """The name of the data set without `question_set`; artifacts depend only on the corpus."""
        return self.name.removesuffix(f"-{self.question_set}") if self.question_set else self.name

    @property
    def synthetic(self) -> bool:
        """Whether the data set is generated from settings."""
        return bool(self.card.made_by)

    @cached_property
    def corpus_digest(self) -> str:
        """Digest of the corpus: its documents and triples."""
        if self.subgraphs is not None:
            return digest([row.id for row in self.documents], self.subgraphs.digest)
        return digest_rows(
            [row.id, row.title, row.text, row.scope, *([list(row.aliases)] if row.aliases else ())]
            for row in self.documents
        )

    @cached_property
    def questions_digest(self) -> str:
        """Digest of the questions without their gold."""
        return digest([
            [row.id, row.text, row.scope, *([list(row.entities)] if row.entities else ()),
             *([row.abstract] if row.abstract is not None else ())]
            for row in self.questions
        ])  # fmt: skip

    @cached_property
    def gold_digest(self) -> str:
        """Digest of the gold, which affects scores but not answers."""
        return digest([
            [name, {part: value for part, value in vars(gold).items() if part != "grades" or value}]
            for name, gold in sorted(self.gold.items())
        ])  # fmt: skip

    def interleaved(self) -> tuple[Question, ...]:
        """Return the questions, ordered so that the types are mixed evenly.

        The first n questions have about the same shares of types as the whole set, for every n.
        Ties between types go to the type that comes first in the set.
        """
        groups: dict[str, list[Question]] = defaultdict(list)
        for question in self.questions:
            groups[self.gold[question.id].type].append(question)
        places = [
            ((rank + 0.5) / len(group), order, question)
            for order, group in enumerate(groups.values())
            for rank, question in enumerate(group)
        ]
        return tuple(question for _, _, question in sorted(places, key=lambda place: place[:2]))

    def in_form(
        self, form: FormName | None, open_tokens: int | None = None, *, published: bool = False
    ) -> "Dataset":
        """Return the data set with one answer form for all questions; None keeps the default forms.

        The default form is multiple choice for a question with options, else the card's form for
        its type. The form `free` replaces only the short form. `open_tokens` is the token limit of
        answers in open forms, or in all forms if `published` is true (None: each form has its own
        limit). If the card says whether a question is abstract, the new form does not change it.
        """

        def formed(question: Question) -> Question:
            gold = self.gold[question.id]
            own = "choice" if gold.options else self.card.form_of(gold.type)
            wanted = own if form is None or (form == "free" and own != "short") else form
            abstract = self.card.abstract_type(gold.type)
            known = None if abstract == answer_form(wanted).prose else abstract
            return replace(
                question, form=wanted, open_tokens=open_tokens, published=published, abstract=known
            )

        return replace(self, questions=tuple(map(formed, self.questions)))

    def scopes(self) -> list[str | None]:
        """Return the distinct scopes of the questions, sorted: [None] for a set without scopes."""
        return sorted({question.scope for question in self.questions}, key=lambda s: s or "")

    def within(self, scope: str | None) -> "Dataset":
        """Return the documents and questions of one scope.

        Raises UserError if the scope has no documents.
        """
        documents = tuple(row for row in self.documents if row.scope == scope)
        if not documents:
            raise UserError(
                f"Data set '{self.name}': no document has the scope {scope!r} of a question. "
                "graph.per=all builds one graph of the whole corpus."
            )
        questions = tuple(row for row in self.questions if row.scope == scope)
        return replace(self, documents=documents, questions=questions)


def is_dev(question_id: str, dev_share: float = DEV_SHARE) -> bool:
    """Return whether a question is in the dev split; a larger dev split contains a smaller one.

    The dev split has the questions for which the first 8 bytes of the sha256 of the id, divided by
    2**64, are below `dev_share`.

    >>> [is_dev(f"q{n}") for n in range(4)]
    [True, False, False, True]
    """
    first = hashlib.sha256(question_id.encode()).digest()[:8]
    return int.from_bytes(first, "big") < dev_share * 2**64


def within_split(
    questions: Sequence[Question], split: Split, dev_share: float = DEV_SHARE
) -> list[Question]:
    """Return the questions that belong to a split, in the given order."""
    if split == "all":
        return list(questions)
    return [one for one in questions if is_dev(one.id, dev_share) == (split == "dev")]


show_briefly(Dataset, Document, Gold)
