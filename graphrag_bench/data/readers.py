"""Readers of published formats: a folder of files becomes documents, questions and gold."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_bench.data.dataset import Card, Dataset, Document, Gold, check, load_card
from graphrag_bench.errors import UserError, nearest, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.values import Question

Rows = tuple[list[Document], list[tuple[Question, Gold]]]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _DocumentRow(_Row):
    id: str
    title: str = ""
    text: str
    scope: str | None = None


class _QuestionRow(_Row):
    id: str
    text: str
    answers: list[str] = []
    evidence: list[str] = []
    type: str = ""
    hops: int | None = None
    entities: list[str] = []
    scope: str | None = None


def read_dataset(
    name: str, root: str | Path | None = None, openie: str | Path | None = None
) -> Dataset:
    """The checked data set of a card, read from `root` or from the card's own folder.

    `openie` names the OpenIE file to use where a folder holds several. Raises UserError for an
    unknown name and for every fault in the files, with the file and line.
    """
    card = load_card(name)
    folder = Path(root) if root else project_folder("datasets") / name
    if not folder.is_dir():
        raise UserError(f"Data set '{name}': there is no folder '{folder}' (dataset.root=PATH).")
    if root is None and card.files and not any((folder / f).is_file() for f in card.files.values()):
        raise UserError(f"Data set '{name}' is not on disk; name its folder: dataset.root=PATH.")
    if card.reader not in READERS:
        raise unknown("reader", card.reader, READERS)
    documents, rows = READERS[card.reader](folder, card)
    _check_documents(documents, folder)
    _check_questions(rows, folder)
    shown = name if root is None or name != "jsonl" else f"jsonl-{folder.resolve().name}"
    dataset = Dataset(
        name=shown,
        documents=tuple(documents),
        questions=tuple(question for question, _ in rows),
        gold={question.id: gold for question, gold in rows},
        card=card,
        openie=_openie_file(folder, openie),
        root=str(root) if root else None,
    )
    return check(dataset)


def _check_documents(documents: list[Document], folder: Path) -> None:
    if not documents:
        raise UserError(f"{folder}: the corpus is empty.")
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise UserError(f"{folder}: the corpus repeats the id '{document.id}'.")
        seen.add(document.id)
    if not any(document.text.strip() for document in documents):
        raise UserError(f"{folder}: every document of the corpus is blank.")


def _check_questions(rows: list[tuple[Question, Gold]], folder: Path) -> None:
    seen: set[str] = set()
    for question, gold in rows:
        if question.id in seen:
            raise UserError(f"{folder}: the questions repeat the id '{question.id}'.")
        if any(not answer.strip() for answer in gold.answers):
            raise UserError(f"{folder}: question '{question.id}' has a blank answer.")
        seen.add(question.id)


def _openie_file(folder: Path, chosen: str | Path | None) -> Path | None:
    if chosen is not None:
        path = Path(chosen) if Path(chosen).is_file() else folder / chosen
        if not path.is_file():
            raise UserError(f"There is no OpenIE file '{chosen}' (dataset.openie=FILE).")
        return path
    found = sorted(folder.glob("openie*.json"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UserError(f"{folder} holds several OpenIE files; choose dataset.openie= {names}.")
    return found[0] if found else None


def _text(path: Path) -> str:
    """The file's text; raises UserError when it is missing, unreadable or not UTF-8."""
    if not path.is_file():
        there = sorted(item.name for item in path.parent.glob("*.json*"))
        close = ", ".join(nearest(path.name, there) or there) or "no JSON file"
        raise UserError(f"There is no file '{path}'. The folder holds: {close}.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}).") from None


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}: not JSON ({error.msg}).") from None


def _json_rows(path: Path, needed: type[_Row]) -> Iterator[Any]:
    """The validated rows of a JSON-lines file, with the line in every error."""
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield needed.model_validate(json.loads(line))
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {number}: not JSON ({error.msg}).") from None
        except ValidationError as error:
            raise UserError(f"{path}, line {number}: {_fault(error, line)}.") from None


def _fault(error: ValidationError, line: str) -> str:
    problem = error.errors()[0]
    field = ".".join(str(part) for part in problem["loc"]) or "row"
    if problem["type"] != "missing":
        return f"field '{field}': {problem['msg']}"
    row = json.loads(line)
    close = nearest(field, row) if isinstance(row, dict) else []
    there = ", ".join(close or row) if isinstance(row, dict) else type(row).__name__
    return f"the field '{field}' is missing (the row has: {there})"


def jsonl(folder: Path, card: Card) -> Rows:
    """Rows of `corpus.jsonl` (id, title, text, scope) and `questions.jsonl`.

    Questions: id, text, answers, evidence, and optionally type, hops, entities, scope.
    """
    corpus = folder / card.files.get("corpus", "corpus.jsonl")
    documents = [
        Document(row.id, row.title, row.text, row.scope) for row in _json_rows(corpus, _DocumentRow)
    ]
    rows = []
    for row in _json_rows(folder / card.files.get("questions", "questions.jsonl"), _QuestionRow):
        gold = Gold(
            tuple(row.answers), tuple(row.evidence), row.type, row.hops, tuple(row.entities)
        )
        rows.append((Question(row.id, row.text, row.scope), gold))
    return documents, rows


def _passages(folder: Path, card: Card) -> list[Document]:
    """The corpus of a HippoRAG-style folder; ids are row numbers."""
    path = folder / card.files.get("corpus", "corpus.json")
    rows = _json(path)
    if not isinstance(rows, list):
        raise UserError(f"{path}: a list of passages was expected, not {type(rows).__name__}.")
    documents = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or "text" not in row:
            raise UserError(f"{path}, passage {number}: the field 'text' is missing.")
        documents.append(Document(str(number), str(row.get("title", "")), str(row["text"])))
    return documents


def _question_rows(folder: Path, card: Card, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    path = folder / card.files.get("questions", "questions.json")
    rows = _json(path)
    if not isinstance(rows, list):
        raise UserError(f"{path}: a list of questions was expected, not {type(rows).__name__}.")
    for number, row in enumerate(rows):
        for field in needed:
            if not isinstance(row, dict) or field not in row:
                there = ", ".join(nearest(field, row) or row) if isinstance(row, dict) else "-"
                raise UserError(
                    f"{path}, question {number}: the field '{field}' is missing (has: {there})."
                )
    return rows


def _squash(text: str) -> str:
    return "".join(text.split())


def musique(folder: Path, card: Card) -> Rows:
    """MuSiQue questions (`paragraphs` with `is_supporting`) over a HippoRAG-style corpus."""
    documents = _passages(folder, card)
    by_content = {(row.title, _squash(row.text)): row.id for row in documents}
    rows = []
    for row in _question_rows(folder, card, ("id", "question", "answer", "paragraphs")):
        evidence = []
        for paragraph in row["paragraphs"]:
            if paragraph.get("is_supporting"):
                content = (paragraph["title"], _squash(paragraph["paragraph_text"]))
                evidence.append(by_content.get(content, f"{content[0]} (paragraph not in corpus)"))
        hops = len(row.get("question_decomposition") or evidence)
        answers = dict.fromkeys([row["answer"], *row.get("answer_aliases", [])])
        gold = Gold(tuple(answers), tuple(dict.fromkeys(evidence)), f"{hops}-hop", hops)
        rows.append((Question(str(row["id"]), row["question"]), gold))
    return documents, rows


def hotpotqa(folder: Path, card: Card) -> Rows:
    """HotpotQA-style questions (`supporting_facts`, `context`) over a HippoRAG-style corpus.

    2WikiMultihopQA has the same shape. Where titles repeat, the text tells the passages apart.
    """
    documents = _passages(folder, card)
    by_title: Mapping[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_title[document.title].append(document)
    rows = []
    for row in _question_rows(folder, card, ("_id", "question", "answer", "supporting_facts")):
        texts = {title: _squash("".join(lines)) for title, lines in row.get("context", [])}
        evidence = []
        for title in dict.fromkeys(fact[0] for fact in row["supporting_facts"]):
            held = by_title.get(title, [])
            same = [found for found in held if _squash(found.text) == texts.get(title)]
            chosen = (same or held)[:1]
            evidence.append(chosen[0].id if chosen else f"{title} (title not in corpus)")
        answers = dict.fromkeys([row["answer"], *row.get("answer_aliases", [])])
        gold = Gold(tuple(answers), tuple(evidence), str(row.get("type", "")))
        rows.append((Question(str(row["_id"]), row["question"]), gold))
    return documents, rows


READERS: Mapping[str, Callable[[Path, Card], Rows]] = {
    "jsonl": jsonl,
    "musique": musique,
    "hotpotqa": hotpotqa,
}
