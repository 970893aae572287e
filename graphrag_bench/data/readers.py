"""Readers of published formats: a folder of files becomes documents, questions and gold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from graphrag_bench.data.dataset import Card, Dataset, Document, Gold, load_card
from graphrag_bench.data.kgqa import rog, rog_files
from graphrag_bench.data.rows import Row, Rows, json_lines, json_list
from graphrag_bench.data.synthetic import synthetic
from graphrag_bench.errors import UserError, nearest, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.values import Question

_SETTINGS = ("name", "root", "openie")
SYNTHETIC = "synthetic"
"""The `reader` of a card whose set is made from settings and has no files."""


def read_dataset(
    name: str,
    root: str | Path | None = None,
    openie: str | Path | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
) -> Dataset:
    """The checked data set of a card, read from `root` or from the card's own folder.

    `openie` names the OpenIE file to use where a folder holds several. `settings` are those of a
    set that is made rather than read. Raises UserError for an unknown name, for a setting that the
    set does not have, and for every fault in the files, with the file and line.
    """
    card = load_card(name)
    if card.reader == SYNTHETIC:
        return synthetic(card, {"root": root, "openie": openie}, settings)
    for setting in settings:
        close = ", ".join(nearest(setting, _SETTINGS) or _SETTINGS)
        raise UserError(f"There is no setting 'dataset.{setting}'. Nearest: {close}.")
    folder = Path(root) if root else project_folder("datasets") / name
    if not folder.is_dir():
        raise UserError(f"Data set '{name}': there is no folder '{folder}' (dataset.root=PATH).")
    if root is None and card.files and not any((folder / f).is_file() for f in card.files.values()):
        raise UserError(f"Data set '{name}' is not on disk; name its folder: dataset.root=PATH.")
    if card.reader not in READERS:
        raise unknown("reader", card.reader, READERS)
    corpus, questions = _files(folder, card)
    rows = READERS[card.reader](corpus, questions)
    rows.check(corpus)
    return Dataset(
        name=name if root is None or name != "jsonl" else f"jsonl-{folder.resolve().name}",
        documents=tuple(rows.documents.values()),
        questions=tuple(rows.questions.values()),
        gold=rows.gold,
        card=card,
        openie=_openie_file(folder, openie),
        root=str(root) if root else None,
        subgraphs=rows.subgraphs,
        training=_training_file(folder, card),
    )


def _files(folder: Path, card: Card) -> tuple[Path, Path]:
    suffix = "jsonl" if card.reader == "jsonl" else "json"
    corpus = card.files.get("corpus", f"corpus.{suffix}")
    return folder / corpus, folder / card.files.get("questions", f"questions.{suffix}")


def _training_file(folder: Path, card: Card) -> Path | None:
    """The file of training questions beside those of the run, where the card names one."""
    name = card.files.get("training")
    if name is None:
        return None
    try:
        rog_files(folder / name)
    except UserError:
        return None
    return folder / name


def _openie_file(folder: Path, chosen: str | Path | None) -> Path | None:
    found = sorted(folder.glob("openie*.json"))
    names = ", ".join(path.name for path in found) or "no openie*.json"
    if chosen is not None:
        path = Path(chosen) if Path(chosen).is_file() else folder / chosen
        if not path.is_file():
            raise UserError(
                f"There is no OpenIE file '{chosen}' (dataset.openie=FILE); {folder} holds {names}."
            )
        return path
    if len(found) > 1:
        raise UserError(f"{folder} holds several OpenIE files; choose dataset.openie= {names}.")
    return found[0] if found else None


class _JsonlDocument(Row):
    id: str
    title: str = ""
    text: str
    scope: str | None = None


class _JsonlQuestion(Row):
    id: str
    text: str
    answers: list[str] = []
    evidence: list[str] = []
    type: str = ""
    hops: int | None = None
    entities: list[str] = []
    scope: str | None = None


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Rows of `corpus.jsonl` (id, title, text, scope) and `questions.jsonl`.

    Questions: id, text, answers, evidence, and optionally type, hops, entities, scope.
    """
    rows = Rows()
    for place, read in json_lines(corpus, _JsonlDocument):
        rows.add_document(place, Document(read.id, read.title, read.text, read.scope))
    for place, row in json_lines(questions, _JsonlQuestion):
        evidence = tuple(dict.fromkeys(row.evidence))
        gold = Gold(tuple(row.answers), evidence, row.type, row.hops, tuple(row.entities))
        rows.add_question(place, Question(row.id, row.text, row.scope), gold)
    return rows


class _Passage(Row):
    title: str = ""
    text: str


def _passages(corpus: Path) -> Rows:
    """The corpus of a HippoRAG-style folder; ids are row numbers."""
    rows = Rows()
    for place, row in json_list(corpus, "passage", _Passage):
        rows.add_document(place, Document(str(len(rows.documents)), row.title, row.text))
    return rows


def _squash(text: str) -> str:
    return "".join(text.split())


class _Paragraph(Row):
    title: str
    paragraph_text: str
    is_supporting: bool = False


class _MusiqueQuestion(Row):
    id: str
    question: str
    answer: str
    answer_aliases: list[str] = []
    paragraphs: list[_Paragraph]
    question_decomposition: list[Any] = []


def musique(corpus: Path, questions: Path) -> Rows:
    """MuSiQue questions (`paragraphs` with `is_supporting`) over a HippoRAG-style corpus."""
    rows = _passages(corpus)
    by_content = {(row.title, _squash(row.text)): row.id for row in rows.documents.values()}
    for place, row in json_list(questions, "question", _MusiqueQuestion):
        evidence = []
        for paragraph in row.paragraphs:
            if paragraph.is_supporting:
                content = (paragraph.title, _squash(paragraph.paragraph_text))
                evidence.append(by_content.get(content, f"{content[0]} (paragraph not in corpus)"))
        hops = len(row.question_decomposition or evidence)
        answers = dict.fromkeys([row.answer, *row.answer_aliases])
        gold = Gold(tuple(answers), tuple(dict.fromkeys(evidence)), f"{hops}-hop", hops)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


class _HotpotQuestion(Row):
    id: str = Field(alias="_id")
    question: str
    answer: str
    answer_aliases: list[str] = []
    supporting_facts: list[tuple[str, int]]
    context: list[tuple[str, list[str]]] = []
    type: str = ""


def hotpotqa(corpus: Path, questions: Path) -> Rows:
    """HotpotQA-style questions (`supporting_facts`, `context`) over a HippoRAG-style corpus.

    2WikiMultihopQA has the same shape. Where titles repeat, the text tells the passages apart.
    """
    rows = _passages(corpus)
    by_title: Mapping[str, list[Document]] = defaultdict(list)
    for document in rows.documents.values():
        by_title[document.title].append(document)
    for place, row in json_list(questions, "question", _HotpotQuestion):
        texts = {title: _squash("".join(sentences)) for title, sentences in row.context}
        evidence = []
        for title in dict.fromkeys(title for title, _ in row.supporting_facts):
            held = by_title.get(title, [])
            same = [found for found in held if _squash(found.text) == texts.get(title)]
            chosen = (same or held)[:1]
            evidence.append(chosen[0].id if chosen else f"{title} (title not in corpus)")
        answers = dict.fromkeys([row.answer, *row.answer_aliases])
        gold = Gold(tuple(answers), tuple(evidence), row.type)
        rows.add_question(place, Question(row.id, row.question), gold)
    return rows


class _UltraDomainDocument(Row):
    context: str


class _UltraDomainQuestion(Row):
    question: str
    answer: str = ""


def ultradomain(corpus: Path, questions: Path) -> Rows:
    """Rows of UltraDomain: `context` on each line of the corpus, and a list of questions.

    Ids are row numbers; documents have no title, the questions are abstract, and an empty answer
    is none.
    """
    rows = Rows()
    for place, document in json_lines(corpus, _UltraDomainDocument):
        rows.add_document(place, Document(str(len(rows.documents)), "", document.context))
    for place, asked in json_list(questions, "question", _UltraDomainQuestion):
        answers = (asked.answer,) if asked.answer.strip() else ()
        question = Question(str(len(rows.questions)), asked.question)
        rows.add_question(place, question, Gold(answers, type="abstract"))
    return rows


READERS: Mapping[str, Callable[[Path, Path], Rows]] = {
    "jsonl": jsonl,
    "musique": musique,
    "hotpotqa": hotpotqa,
    "ultradomain": ultradomain,
    "rog": rog,
}
