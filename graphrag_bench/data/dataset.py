"""A data set: its card, its documents and questions, and its gold, which operators never see."""

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
from graphrag_bench.fingerprint import digest
from graphrag_bench.prompts import FormName, answer_form
from graphrag_bench.text import show_briefly
from graphrag_bench.values import Question

QUESTIONS = "questions.jsonl"
"""The file of questions in the project's own form."""
UNKNOWN = "unknown"
"""What a card says of an unchecked checksum or revision; never an invented one."""
DEFAULT_FORM = "default"
ABSTRACT = "abstract"
"""The type of questions about a corpus as a whole, as `graphrag-bench questions` makes them."""
Split = Literal["all", "dev", "test"]
DEV_SHARE = 0.5
"""The share of the questions that settings may be chosen on, unless `dev_share` says another."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Download(_Part):
    """A published file: `path` in the hub's data set (a pattern may name several), or `url`.

    `to` is the name it gets, by default its own. `size` (in bytes) and `sha256` are those that it
    must have. `members` are what is taken out of an archive: patterns of member names, each with
    the name it gets ("" keeps the last part of its own).
    """

    path: str = ""
    url: str = ""
    to: str = ""
    size: int | None = None
    sha256: str = UNKNOWN
    members: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_place(self) -> "Download":
        if bool(self.path) == bool(self.url):
            raise ValueError("a download has a path in the hub's data set or a url, and not both")
        return self


class Source(_Part):
    """Where a published set comes from; `hub` names it on the hub, `by_hand` says what to do."""

    url: str
    hub: str = ""
    revision: str = UNKNOWN
    downloads: list[Download] = []
    by_hand: str = ""


class Layout(_Part):
    """Another shape in which the set is published: its reader and its files."""

    reader: str
    files: dict[str, str]
    note: str = ""


class Card(_Part):
    """`datasets/<name>/card.yaml`: identity, licence, readers and expected shape of a set.

    `made_by` is the dotted name of the function that makes a set from settings; it has no files.
    `verified`: the shape was checked against what `checked` names. `counts` are what the publisher
    or `counts_from` prints, `answers` the form of answer: one, or `default` and others by type.
    `abstract`: its questions ask about the corpus as a whole; by default, those of one form do when
    it is prose.
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
        """Return the form of answer of a type; an abstract one wants a paragraph by default."""
        stated = self.answers if isinstance(self.answers, dict) else {DEFAULT_FORM: self.answers}
        by_type: dict[str, FormName] = {ABSTRACT: "paragraph", **stated}
        return by_type.get(question_type, by_type[DEFAULT_FORM])

    def abstract_type(self, question_type: str) -> bool | None:
        """Return whether questions of a type are abstract; None where their form has to say."""
        if question_type == ABSTRACT:
            return True
        if self.abstract is None and isinstance(self.answers, str):
            return answer_form(self.answers).prose
        return self.abstract

    @property
    def shapes(self) -> list[Layout]:
        """The shapes that are looked for in a folder, the card's own first; none of a made set."""
        own = Layout(reader=self.reader, files=self.files)
        return [] if self.made_by else [own, *self.layouts]


def card_names() -> list[str]:
    """Return the names of all sets that have a card, sorted."""
    return sorted(path.parent.name for path in project_folder("datasets").glob("*/card.yaml"))


def load_card(name: str) -> Card:
    """Return the checked card of a set; raises UserError for an unknown name or a bad card."""
    path = project_folder("datasets").resolve() / name / "card.yaml"
    if not path.is_file():
        raise unknown("dataset", name, card_names())
    try:
        return Card.model_validate(read_yaml(path.read_text(encoding="utf-8"), str(path)))
    except ValidationError as error:
        raise UserError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Document:
    """One row of the corpus; `scope` is its part of the corpus, `aliases` name it as the title."""

    id: str
    title: str
    text: str
    scope: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def passage(self) -> str:
        """Title and text on lines of their own; the text alone when there is no title."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Gold:
    """What a question should be answered with: any of `answers`, found in the `evidence` ids.

    Of a question over a graph, `answer_entities` are the nodes that answer it, and `in_graph` says
    whether one of them is in the question's subgraph. `spans` are sentences that state the answer,
    as the set gives them. A multiple-choice question has `options`, and `correct` is the index of
    the right one. `sub_answers` has the aliases of each of several answers, all of them wanted.
    `statements` say what the evidence says, in other words than the text's. Evidence may name a
    file with several documents, any of which counts: `parts` has each such file and its documents.
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


def documents_of(gold: Gold, evidence: str) -> tuple[str, ...]:
    """Return the documents that an item of the evidence names: one, or all of a file."""
    return dict(gold.parts).get(evidence, (evidence,))


def name_of(gold: Gold, document: str) -> str:
    """Return the name that the evidence has for a document: its file's, or its own id."""
    return next((file for file, documents in gold.parts if document in documents), document)


def evidence_names(gold: Gold, documents: Sequence[str]) -> list[str]:
    """Return documents by the names that the evidence has for them; a file's is given once."""
    names: dict[str, None] = {}
    for document in documents:
        name = name_of(gold, document)
        names[document if name in names else name] = None
    return list(names)


@dataclass(frozen=True)
class Dataset:
    """Documents, questions and gold of one set; `gold` has a row for every question.

    `settings` are those of a synthetic set that are not the default. `subgraphs` are the triples
    that the set gives for its documents, `training` the file that a scorer may learn from, and
    `validation` that by which a trained model is chosen.
    `questions_file` holds the questions where they are not the set's own, but made for its corpus.
    `fault` says what is wrong with the gold, so that no run can be scored.
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
    fault: str = ""

    @property
    def question_set(self) -> str:
        """The name of its questions: of their file, or its folder; "" for the set's own."""
        file = self.questions_file
        if file is None:
            return ""
        return file.resolve().parent.name if file.name == QUESTIONS else file.stem

    @property
    def corpus_name(self) -> str:
        """The name without that of made questions: artifacts are those of the corpus alone."""
        return self.name.removesuffix(f"-{self.question_set}") if self.question_set else self.name

    @property
    def synthetic(self) -> bool:
        """Whether the set is made from settings, and not read."""
        return bool(self.card.made_by)

    @cached_property
    def corpus_digest(self) -> str:
        """A fingerprint of the corpus."""
        if self.subgraphs is not None:
            return digest([row.id for row in self.documents], self.subgraphs.digest)
        return digest([
            [row.id, row.title, row.text, row.scope, *([list(row.aliases)] if row.aliases else ())]
            for row in self.documents
        ])  # fmt: skip

    @cached_property
    def questions_digest(self) -> str:
        """A fingerprint of the questions as operators see them; gold does not change an answer."""
        return digest([
            [row.id, row.text, row.scope, *([list(row.entities)] if row.entities else ()),
             *([row.abstract] if row.abstract is not None else ())]
            for row in self.questions
        ])  # fmt: skip

    @cached_property
    def gold_digest(self) -> str:
        """A fingerprint of the gold: it decides scores and no answer."""
        return digest([[name, vars(gold)] for name, gold in sorted(self.gold.items())])

    def interleaved(self) -> tuple[Question, ...]:
        """Return the questions so that every prefix has the types in the set's own shares.

        Ties between types go to the one that came first.
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
        """Return the same set with every question in that form of answer; for None, in its own.

        A question with options wants a choice, any other what the card says of its type. The free
        form takes the place of the short one alone. An open form has `open_tokens` at most, as
        published every form; for None, those of the form. Where the card says whether a question
        is abstract, no form changes that.
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
        """Return the scopes of the questions, sorted; a set without scopes has the one None."""
        return sorted({question.scope for question in self.questions}, key=lambda s: s or "")

    def within(self, scope: str | None) -> "Dataset":
        """Return the documents and questions of one scope; raises UserError without a document."""
        documents = tuple(row for row in self.documents if row.scope == scope)
        if not documents:
            raise UserError(
                f"Data set '{self.name}': no document has the scope {scope!r} that a question "
                "names; graph.per=all builds one graph of everything."
            )
        questions = tuple(row for row in self.questions if row.scope == scope)
        return replace(self, documents=documents, questions=questions)


def is_dev(question_id: str, dev_share: float = DEV_SHARE) -> bool:
    """Return whether a question is of the dev part: a larger one holds a smaller one.

    The first 8 bytes of the sha256 of its id, as a share of all numbers, are below `dev_share`.
    """
    first = hashlib.sha256(question_id.encode()).digest()[:8]
    return int.from_bytes(first, "big") < dev_share * 2**64


def within_split(
    questions: Sequence[Question], split: Split, dev_share: float = DEV_SHARE
) -> list[Question]:
    """Return the questions of a part, in their order; all of them for `all`."""
    if split == "all":
        return list(questions)
    return [one for one in questions if is_dev(one.id, dev_share) == (split == "dev")]


show_briefly(Dataset, Document, Gold)
