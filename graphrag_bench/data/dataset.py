"""A data set: its documents, questions, gold answers (hidden from operators), and description."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
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
UNKNOWN = "unknown"
"""Value of an unknown checksum or revision in the card of a data set."""
ABSTRACT = "abstract"
"""Type of questions about a whole corpus. `graphrag-bench questions` can generate them."""
COLLECTIONS = {"beir": ("name", "split"), "ir_datasets": ("name",)}
"""For the card of each collection, the settings that select one of its data sets."""
Split = Literal["all", "dev", "test"]
DEV_SHARE = 0.5


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class Download(_Part):
    """A file to download: a `path` or pattern in a data set on the Hugging Face hub, or a `url`.

    `hub` overrides `Source.hub`. `to` is the file name on disk, a folder if it ends with a slash,
    or "" for the published name. `size` is in bytes. For an archive, `members` maps patterns of
    member names to file names on disk or "".
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
    """The place where a data set is published. `by_hand` explains how to get it without `fetch`."""

    url: str
    hub: str = ""
    revision: str = UNKNOWN
    downloads: list[Download] = []
    by_hand: str = ""


class Layout(_Part):
    """The files of a published data set, and the reader for these files."""

    reader: str
    files: dict[str, str]
    note: str = ""


class Card(_Part):
    """Description of a data set, read from `datasets/<name>/card.yaml`.

    `made_by` is the dotted name of the function that generates a synthetic data set. `verified`
    says whether the layout was checked against the original files, and `checked` names these files.
    `counts` are the expected numbers of documents and questions, and `counts_from` is their source.
    `answers` is the answer form of all questions, or a form by question type and `default`.
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
        if isinstance(value, dict) and "default" not in value:
            raise ValueError("answers by type need a 'default' for the other types")
        return value

    def form_of(self, question_type: str) -> FormName:
        """Return the answer form of a question type, by default `paragraph` for type `abstract`."""
        forms = self.answers if isinstance(self.answers, dict) else {"default": self.answers}
        usual = "paragraph" if question_type == ABSTRACT else forms["default"]
        return forms.get(question_type, usual)

    def abstract_type(self, question_type: str) -> bool | None:
        """Return whether a question type is about the whole corpus, or None if this is unknown.

        If the card has no field `abstract` and a single answer form for all types, the form
        decides. Prose means that the questions are about the whole corpus.
        """
        if question_type == ABSTRACT:
            return True
        if self.abstract is None and isinstance(self.answers, str):
            return answer_form(self.answers).prose
        return self.abstract

    @property
    def shapes(self) -> list[Layout]:
        """The possible layouts of the files, main layout first; none for a synthetic data set."""
        own = Layout(reader=self.reader, files=self.files)
        return [] if self.made_by else [own, *self.layouts]


def card_names() -> list[str]:
    """Return the names of all data sets that have a card, in alphabetical order."""
    return sorted(path.parent.name for path in project_folder("datasets").glob("*/card.yaml"))


def load_card(name: str) -> Card:
    """Read the card of a data set. Raises UserError if it does not exist or is invalid."""
    path = project_folder("datasets").resolve() / name / "card.yaml"
    if not path.is_file():
        own = "For your own files, choose 'folder' with root=FOLDER."
        raise UserError(f"{unknown('dataset', name, card_names())} {own}")
    try:
        return Card.model_validate(read_yaml(path.read_text(encoding="utf-8"), str(path)))
    except ValidationError as error:
        raise UserError(f"{path}: {error}") from None


@show_briefly
@dataclass(frozen=True)
class Document:
    """A document. `scope` is its part of the corpus, e.g. a book; `aliases` are other titles."""

    id: str
    title: str
    text: str
    scope: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def passage(self) -> str:
        """The title and the text on separate lines, or the text alone if there is no title."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@show_briefly
@dataclass(frozen=True)
class Gold:
    """The gold answers and the gold evidence of a question.

    Each text in `answers` is correct. `evidence` lists the ids of the gold documents, and `grades`
    their relevance grades (1 or more; empty if all are 1). If `evidence` names a file, `parts` maps
    the file to its documents, any of which counts. `spans` are sentences of the corpus that state
    the answer. `statements` paraphrase the evidence. `correct` is an index in `options`.
    `sub_answers` lists the aliases of each required part of an answer. `in_graph` says whether the
    question's subgraph contains one of the `answer_entities`.
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
        """The relevance grade of each gold document or file, as {evidence: grade}."""
        return dict(zip(self.evidence, self.grades or [1] * len(self.evidence), strict=True))


def item_documents(gold: Gold, evidence: str) -> tuple[str, ...]:
    """Return the documents of an evidence item, which is a document or a file of documents."""
    return dict(gold.parts).get(evidence, (evidence,))


def evidence_name(gold: Gold, document: str) -> str:
    """Return the evidence file that contains a document, or else the document itself."""
    return next((file for file, documents in gold.parts if document in documents), document)


def evidence_names(gold: Gold, documents: Sequence[str]) -> list[str]:
    """Replace the first retrieved document of each evidence file by the name of the file."""
    names: dict[str, None] = {}
    for document in documents:
        name = evidence_name(gold, document)
        names[document if name in names else name] = None
    return list(names)


@show_briefly
@dataclass(frozen=True)
class Dataset:
    """A data set: its documents, its questions, and the gold answers and evidence of each question.

    `settings` are the settings of a synthetic data set, or select a data set of a collection.
    `training` and `validation` are files of questions for scorers. `gold_error` describes an error
    that makes scoring impossible. `notes` report gold evidence that the corpus lacks.
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
        """Name of the split or questions file. `questions.jsonl` is named after its folder."""
        file = self.questions_file
        if file is None:
            return str(self.settings.get("split", ""))
        return file.resolve().parent.name if file.name == QUESTIONS else file.stem

    @property
    def corpus_name(self) -> str:
        """Name of the data set without the name of its set of questions."""
        return self.name.removesuffix(f"-{self.question_set}") if self.question_set else self.name

    @property
    def synthetic(self) -> bool:
        """Whether the data set is generated from settings."""
        return bool(self.card.made_by)

    @cached_property
    def corpus_digest(self) -> str:
        """Digest of the documents and triples of the corpus."""
        if self.subgraphs is not None:
            return digest([row.id for row in self.documents], self.subgraphs.digest)
        return digest_rows(
            [row.id, row.title, row.text, row.scope, *([list(row.aliases)] if row.aliases else ())]
            for row in self.documents
        )

    @cached_property
    def questions_digest(self) -> str:
        """Digest of the questions without their gold answers and evidence."""
        return digest([
            [row.id, row.text, row.scope, *([list(row.entities)] if row.entities else ()),
             *([row.abstract] if row.abstract is not None else ())]
            for row in self.questions
        ])  # fmt: skip

    @cached_property
    def gold_digest(self) -> str:
        """Digest of the gold answers and evidence, which affect the scores but not the answers."""
        return digest([
            [name, {part: value for part, value in vars(gold).items() if part != "grades" or value}]
            for name, gold in sorted(self.gold.items())
        ])  # fmt: skip

    def interleaved(self) -> tuple[Question, ...]:
        """Return the questions in an order that mixes the question types evenly.

        For every n, the first n questions have nearly the same shares of types as all questions.
        Ties are broken by the order in which the types first occur.
        """
        groups: dict[str, list[Question]] = defaultdict(list)
        for question in self.questions:
            groups[self.gold[question.id].type].append(question)
        places = [((n + 0.5) / len(of), one) for of in groups.values() for n, one in enumerate(of)]
        return tuple(question for _, question in sorted(places, key=itemgetter(0)))

    def in_form(
        self, form: FormName | None, open_tokens: int | None = None, *, published: bool = False
    ) -> "Dataset":
        """Return the data set with the given answer form for all questions.

        If `form` is None, a question has the form `choice` if it has options, and otherwise the
        form in the card. The form `free` replaces only the form `short`. For the other parameters,
        see `Question`.
        """

        def formed(question: Question) -> Question:
            gold = self.gold[question.id]
            own = "choice" if gold.options else self.card.form_of(gold.type)
            wanted = own if form is None or (form == "free" and own != "short") else form
            abstract = self.card.abstract_type(gold.type)
            known = None if abstract == answer_form(wanted).prose else abstract
            asked = replace(question, form=wanted, abstract=known)
            return replace(asked, open_tokens=open_tokens, published=published)

        return replace(self, questions=tuple(map(formed, self.questions)))

    def scopes(self) -> list[str | None]:
        """Return the sorted scopes of the questions. None stands for questions without a scope."""
        return sorted({question.scope for question in self.questions}, key=lambda s: s or "")

    def within(self, scope: str | None) -> "Dataset":
        """Return the part of the data set in one scope. Raises UserError if it has no documents."""
        if not (documents := tuple(row for row in self.documents if row.scope == scope)):
            why = f"a question has scope {scope!r}, but no document has this scope"
            raise UserError(f"Data set '{self.name}': {why}. Set graph.per=all to build one graph.")
        questions = tuple(row for row in self.questions if row.scope == scope)
        return replace(self, documents=documents, questions=questions)


@dataclass(frozen=True)
class TrainingSet:
    """Training questions for a scorer, which are read only when they are needed.

    `read(n)` returns the first n questions, or all questions if n is None. `size()` is the number
    of all questions. `validation()` returns questions for model selection.
    """

    identity: str
    read: Callable[[int | None], Dataset]
    size: Callable[[], int]
    validation: Callable[[], Dataset] | None = None


def is_dev(question_id: str, dev_share: float = DEV_SHARE) -> bool:
    """Return whether a question is in the dev split. A higher `dev_share` only adds questions."""
    first = hashlib.sha256(question_id.encode()).digest()[:8]
    return int.from_bytes(first, "big") < dev_share * 2**64


def within_split(
    questions: Sequence[Question], split: Split, dev_share: float = DEV_SHARE
) -> list[Question]:
    """Return the questions that belong to a split (`all`, `dev` or `test`), in the given order."""
    if split == "all":
        return list(questions)
    return [one for one in questions if is_dev(one.id, dev_share) == (split == "dev")]
