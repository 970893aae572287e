"""A data set: its card, its documents and questions, and its gold, which operators never see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.answer_forms import FormName
from graphrag_bench.data.card import Card
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.text import show_briefly
from graphrag_bench.values import Question
from graphrag_bench.world.facts import World

if TYPE_CHECKING:
    from graphrag_bench.data.subgraphs import Subgraphs

QUESTIONS = "questions.jsonl"
"""The file of questions in the project's own form."""


@dataclass(frozen=True)
class Document:
    """One row of the corpus; `scope` is the part of the corpus it belongs to, if any.

    `aliases` are other names of what the title names: redirects of an encyclopedia.
    """

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
    `statements` say what the evidence says, in other words than the text's.
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


@dataclass(frozen=True)
class Dataset:
    """Documents, questions and gold of one set; `gold` has a row for every question.

    `world` is what a synthetic set was made of; operators never see it. `subgraphs` are the triples
    that the set gives for its documents, `training` the file that a scorer may learn from.
    `questions_file` holds the questions where they are not the set's own, but made for its corpus.
    It is the first `part` of `parts` of its documents.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]
    card: Card
    openie: Path | None = None
    root: str | None = None
    world: World | None = None
    subgraphs: Subgraphs | None = None
    training: Path | None = None
    questions_file: Path | None = None
    part: int = 1
    parts: int = 1

    @property
    def asked(self) -> str:
        """The name of its questions: of their file, or its folder; "" for the set's own."""
        file = self.questions_file
        if file is None:
            return ""
        return file.resolve().parent.name if file.name == QUESTIONS else file.stem

    @property
    def corpus_name(self) -> str:
        """The name without that of made questions: artifacts are those of the corpus alone."""
        return self.name.removesuffix(f"-{self.asked}") if self.asked else self.name

    @property
    def settings(self) -> dict[str, object]:
        """The settings of a synthetic set, and of a part, that are not the default, by name."""
        made = self.world.settings.model_dump(exclude_defaults=True) if self.world else {}
        return {**made, "part": self.part, "parts": self.parts} if self.parts > 1 else made

    @cached_property
    def corpus_digest(self) -> str:
        """A fingerprint of the corpus."""
        if self.subgraphs is not None:
            return digest([row.id for row in self.documents], self.subgraphs.digest)
        return digest([_told(row) for row in self.documents])

    @cached_property
    def questions_digest(self) -> str:
        """A fingerprint of the questions as operators see them; gold does not change an answer."""
        return digest([_seen(row) for row in self.questions])

    def interleaved(self) -> tuple[Question, ...]:
        """The questions ordered so that every prefix has the types in the set's own shares.

        Within a type the file's order holds; ties between types go to the one that came first.
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

    def in_form(self, form: FormName | None, open_tokens: int | None = None) -> Dataset:
        """The same set with every question in that form of answer; for None, in its own.

        A question with options wants a choice, any other what the card says of its type. A list, a
        paragraph or a summary has `open_tokens` at most; for None, those of the form.
        """

        def own(question: Question) -> FormName:
            gold = self.gold[question.id]
            return "choice" if gold.options else self.card.form_of(gold.type)

        asked = tuple(
            replace(row, form=form or own(row), open_tokens=open_tokens) for row in self.questions
        )
        return replace(self, questions=asked)

    def scopes(self) -> list[str | None]:
        """The scopes of the questions, sorted; a set without scopes has the one scope None."""
        return sorted({question.scope for question in self.questions}, key=lambda s: s or "")

    def within(self, scope: str | None) -> Dataset:
        """The documents and questions of one scope; raises UserError when it has no document."""
        documents = tuple(row for row in self.documents if row.scope == scope)
        if not documents:
            raise UserError(
                f"Data set '{self.name}': no document has the scope {scope!r} that a question "
                "names; graph.per=all builds one graph of everything."
            )
        questions = tuple(row for row in self.questions if row.scope == scope)
        return replace(self, documents=documents, questions=questions)


def _told(row: Document) -> list[object]:
    told: list[object] = [row.id, row.title, row.text, row.scope]
    return [*told, list(row.aliases)] if row.aliases else told


def _seen(question: Question) -> list[object]:
    seen: list[object] = [question.id, question.text, question.scope]
    return [*seen, list(question.entities)] if question.entities else seen


show_briefly(Dataset, Document, Gold)
