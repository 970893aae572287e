"""Read rankings of another retrieval system from a TREC run, a JSON file or JSON lines."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, FiniteFloat

from graphrag_bench.data.chunks import shared_ranks
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.rows import FileRow, checked_row, json_objects, read_text, warn
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.openai_compatible import without_reasoning
from graphrag_bench.text import without_spaces

NO_PASSAGE = "no-passage-found"
"""Placeholder in a TREC run for a question without any retrieved passage."""
_FIELDS = {"question", "documents", "docs", "answer", "scores", "doc_scores"}
_JSON = (
    '{"QUESTION": [PASSAGE, ...] or {PASSAGE: SCORE, ...}, ...}, rows {"question": ..., '
    '"documents": [PASSAGE, ...], "answer": ...}, or {"retrieved_docs": [[PASSAGE, ...], ...]}'
)
RankGroups = Sequence[Sequence[str]]
"""The passages at each rank. Passages with equal scores share a rank."""
RankingRow = tuple[str, str, RankGroups, object]
"""Position in the file (for errors), question, passages at each rank, and answer."""


class _Row(FileRow):
    question: str
    documents: list[str] = Field(validation_alias=AliasChoices("documents", "docs"))
    answer: Any = None
    scores: list[FiniteFloat] | None = Field(
        None, validation_alias=AliasChoices("scores", "doc_scores")
    )


class _AllQuestions(FileRow):
    retrieved_docs: list[list[str]]
    answers: list[Any] = []


@dataclass(frozen=True)
class Ranking:
    """Ranked document ids for one question (best first), their ranks (from 1), and the answer."""

    documents: tuple[str, ...]
    ranks: tuple[int, ...]
    answer: str | None = None


@dataclass(frozen=True)
class Rankings:
    """Rankings in a file, keyed by question id, and ranked passages that are not in the corpus."""

    of: Mapping[str, Ranking]
    n_passages: int
    unmatched: tuple[str, ...]


def read_rankings(path: Path, dataset: Dataset) -> Rankings:
    """Read rankings from a TREC or JSON file, and match them with the documents and questions.

    A passage is given as a document id, an evidence item or a text. A text matches every document
    that has this text, with or without the title. White space is ignored. The best rank of a
    document counts. A passage outside the corpus keeps its rank. A question is given by its id or
    its text. Raises UserError for an unknown or repeated question, or an answer of a wrong type.
    """
    evidence = (name for gold in dataset.gold.values() for name in gold.evidence)
    ids = {*(document.id for document in dataset.documents), *evidence}
    texts = [(one.id, text) for one in dataset.documents for text in (one.passage, one.text)]
    by_text, n_passages, unmatched = _ids_by_text(texts), 0, list[str]()
    asked = _ids_by_text([(one.id, one.text) for one in dataset.questions])

    def documents(passage: str) -> Sequence[str]:
        if passage in ids:
            return [passage]
        if found := by_text.get(without_spaces(passage)):
            return found
        unmatched.append(passage)
        return [passage if len(passage.split()) == 1 else f"unmatched-{digest(passage)}"]

    if not (first := read_text(path).lstrip()[:1]):
        raise UserError(f"{path} is empty.")
    rankings: dict[str, Ranking] = {}
    for place, name, groups, answer in _json(path, dataset) if first in "{[" else _trec(path):
        question = _question_id(place, name, dataset.gold, asked)
        if question in rankings:
            raise UserError(f"{place}: question '{question}' occurs twice.")
        n_passages += sum(map(len, groups))
        ranks = shared_ranks(chain.from_iterable(map(documents, one)) for one in groups)
        wants_list = dataset.card.form_of(dataset.gold[question].type) == "list"
        text = None if answer is None else _answer(f"{place}, '{question}'", answer, wants_list)
        rankings[question] = Ranking(tuple(ranks), tuple(ranks.values()), text)
    if not rankings:
        raise UserError(f"{path} ranks no passages.")
    return Rankings(rankings, n_passages, tuple(unmatched))


def _trec(path: Path) -> Iterator[RankingRow]:
    questions: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            question, _, passage, rank, score, _ = line.split()
            questions[question].append((_negative(score), int(rank), passage))
        except ValueError:
            why = f"expected 'question Q0 passage rank score tag', not '{line[:80]}'"
            raise UserError(f"{path}, line {number}: {why}.") from None
    for question, rows in questions.items():
        rows.sort(key=itemgetter(0, 1))
        if any(one[1] > other[1] for one, other in pairwise(rows)):
            why = "the ranks must increase as the scores decrease"
            raise UserError(f"{path}: question '{question}': {why}.")
        tied = groupby(rows, key=itemgetter(0, 1))
        groups = [[one for *_, one in group if one != NO_PASSAGE] for _, group in tied]
        yield str(path), question, groups, None


def _json(path: Path, dataset: Dataset) -> Iterator[RankingRow]:
    unread = set[str]()
    for place, item in json_objects(path):
        if not isinstance(item, dict):
            raise UserError(f"{place}: expected {_JSON}.")
        if isinstance(item.get("question"), str):
            row = checked_row(place, item, _Row)
            unread |= item.keys() - _FIELDS
            if (scores := row.scores) is not None and (
                len(scores) != len(row.documents) or scores != sorted(scores, reverse=True)
            ):
                raise UserError(f"{place}: expected one score per passage, highest first.")
            yield place, row.question, [[one] for one in row.documents], row.answer
        elif "retrieved_docs" in item:
            every = checked_row(place, item, _AllQuestions)
            lists, n = every.retrieved_docs, len(dataset.questions)
            answers = every.answers or [None] * len(lists)
            if not n == len(lists) == len(answers):
                raise UserError(f"{place}: expected one list for each of {n} questions.")
            for question, listed, answer in zip(dataset.questions, lists, answers, strict=True):
                yield place, question.id, [[one] for one in listed], answer
        else:
            for name, passages in item.items():
                yield place, name, _rank_groups(f"{place}, '{name}'", passages), None
    if unread:
        warn(f"{path}: ignored fields: {', '.join(sorted(unread))}.")


def _negative(score: Any) -> float:
    if type(score) not in (str, int, float) or math.isnan(value := float(score)):
        raise ValueError(score)
    return -value


def _rank_groups(place: str, passages: object) -> RankGroups:
    if isinstance(passages, dict):  # passages with scores, the format of ranx and BEIR
        groups: dict[float, list[str]] = defaultdict(list)
        for name, score in passages.items():
            try:
                groups[_negative(score)].append(name)
            except ValueError:
                why = f"the score {score!r} is not a number"
                raise UserError(f"{place}: passage '{name}': {why}.") from None
        return [groups[key] for key in sorted(groups)]
    if not isinstance(passages, list) or not all(type(p) in (str, int) for p in passages):
        raise UserError(f"{place}: expected a list of passages, as in {_JSON}.")
    return [[str(passage)] for passage in passages]


def _answer(place: str, value: object, wants_list: bool) -> str:
    if wants_list and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(f"ans: {' '.join(one.split())}" for one in value)
    if type(value) in (str, int) or (type(value) is float and math.isfinite(value)):
        return without_reasoning(str(value))
    raise UserError(f"{place}: the answer {value!r:.60} must be a text or null.")


def _question_id(
    place: str, name: str, known: Collection[str], by_text: Mapping[str, Sequence[str]]
) -> str:
    ids = [name] if name in known else by_text.get(without_spaces(name), [])
    if len(ids) == 1:
        return ids[0]
    what, hint = "the text of several questions", f"{', '.join(ids)}."
    if not ids:
        what, hint = "not the id or text of a question", did_you_mean(name, sorted(known))
    raise UserError(f"{place}: '{name[:80]}' is {what}. {hint}")


def _ids_by_text(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for name, text in rows:
        ids[without_spaces(text)][name] = None
    return {text: list(names) for text, names in ids.items()}
