"""Somebody else's rankings: a TREC run, JSON or JSON lines, matched to the passages of a set."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.data.chunks import shared_ranks
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.rows import json_objects, read_text
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest

NO_PASSAGE = "no-passage-found"
"""The passage of a TREC run for a question that found none: such a run has no other way to say."""
_TREC = "question Q0 passage rank score tag"
_JSON = (
    'what is read is {"QUESTION": [PASSAGE, ...], ...}, rows {"question": ..., "documents" or '
    '"docs": [PASSAGE, ...], "answer": ...}, or {"retrieved_docs": [[PASSAGE, ...], ...], '
    '"answers": [...]} in the order of the questions'
)
Places = Sequence[Sequence[str]]
"""Passages by rank; those of one rank were found together."""
Row = tuple[str, str, Places, str | None]


@dataclass(frozen=True)
class Ranking:
    """The passages of one question, best first, and its answer, None where the file has none.

    `documents` are ids; those that one passage of the file stands for share their rank (from 1).
    """

    documents: tuple[str, ...]
    ranks: tuple[int, ...]
    answer: str | None = None


@dataclass(frozen=True)
class Rankings:
    """The rankings of a file by question id; `unmatched` passages are in no corpus."""

    of: Mapping[str, Ranking]
    n_passages: int
    unmatched: tuple[str, ...]


def read_rankings(path: Path, dataset: Dataset) -> Rankings:
    """Return the rankings of a file; JSON is told from TREC by its first character.

    A passage is the id of a document, an item that gold evidence names, or a text that is the same
    but for white space as a document with or without its title: it stands for all documents of that
    text. A document counts where it is first named. A passage that matches nothing keeps its rank.
    A question is an id, or a text; one that is unknown or comes twice is a UserError.
    """
    matcher = _Matcher(dataset)
    is_json = read_text(path).lstrip()[:1] in "{["
    rankings: dict[str, Ranking] = {}
    for place, name, places, answer in _json(path, dataset) if is_json else _trec(path):
        question = matcher.question(place, name)
        if question in rankings:
            raise UserError(f"{place}: question '{question}' was there before.")
        ranks = shared_ranks(
            [one for passage in passages for one in matcher.documents(passage)]
            for passages in places
        )
        rankings[question] = Ranking(tuple(ranks), tuple(ranks.values()), answer)
    if not rankings:
        raise UserError(f"{path} ranks no passages.")
    return Rankings(rankings, matcher.n_passages, tuple(matcher.unmatched))


def _trec(path: Path) -> Iterator[Row]:
    questions: dict[str, dict[tuple[float, int], list[str]]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            question, _, passage, rank, score, _ = line.split()
            key = -float(score), int(rank)
            if math.isnan(key[0]):
                raise ValueError(score)
        except ValueError:
            raise UserError(
                f"{path}, line {number}: a line of a TREC run is {_TREC}, not '{line[:80]}'."
            ) from None
        places = questions.setdefault(question, {})
        if passage != NO_PASSAGE:
            places.setdefault(key, []).append(passage)
    for question, places in questions.items():
        yield str(path), question, [places[key] for key in sorted(places)], None


def _json(path: Path, dataset: Dataset) -> Iterator[Row]:
    for place, item in json_objects(path):
        if not isinstance(item, dict):
            raise UserError(f"{place}: {_JSON}.")
        if "retrieved_docs" in item:
            yield from _in_order(place, item, dataset)
        elif isinstance(item.get("question"), str):
            passages = item["documents"] if "documents" in item else item.get("docs")
            yield place, item["question"], _places(place, passages), _answer(item.get("answer"))
        else:
            for name, passages in item.items():
                yield place, name, _places(f"{place}, '{name}'", passages), None


def _in_order(place: str, item: Mapping[str, Any], dataset: Dataset) -> Iterator[Row]:
    every, lists = dataset.questions, item["retrieved_docs"]
    answers = item.get("answers") or [None] * len(every)
    for name, values in (("retrieved_docs", lists), ("answers", answers)):
        if not isinstance(values, list) or len(values) != len(every):
            raise UserError(f"{place}: {name} is no list for the {len(every)} questions in order.")
    for question, passages, answer in zip(every, lists, answers, strict=True):
        yield place, question.id, _places(f"{place}, '{question.id}'", passages), _answer(answer)


def _places(place: str, passages: object) -> Places:
    if not isinstance(passages, list) or not all(isinstance(p, str | int) for p in passages):
        raise UserError(f"{place}: a list of passages was expected: {_JSON}.")
    return [[str(passage)] for passage in passages]


def _answer(value: object) -> str | None:
    return None if value is None else str(value)


def _plain(text: str) -> str:
    return " ".join(text.split())


class _Matcher:
    def __init__(self, dataset: Dataset) -> None:
        self.ids = {document.id for document in dataset.documents}
        self.ids |= {name for gold in dataset.gold.values() for name in gold.evidence}
        self.n_passages = 0
        self.unmatched: list[str] = []
        self._texts: dict[str, dict[str, None]] = defaultdict(dict)
        for document in dataset.documents:
            for text in (document.passage, document.text):
                self._texts[_plain(text)][document.id] = None
        self._ids = {question.id for question in dataset.questions}
        self._questions: dict[str, list[str]] = defaultdict(list)
        for question in dataset.questions:
            self._questions[_plain(question.text)].append(question.id)

    def documents(self, passage: str) -> Sequence[str]:
        """The documents of a passage; of an unmatched one itself, or a fingerprint of its text."""
        self.n_passages += 1
        if passage in self.ids:
            return [passage]
        if documents := self._texts.get(_plain(passage)):
            return list(documents)
        self.unmatched.append(passage)
        return [passage if len(passage.split()) == 1 else f"unmatched-{digest(passage)}"]

    def question(self, place: str, name: str) -> str:
        if name in self._ids:
            return name
        ids = self._questions.get(_plain(name), [])
        if len(ids) != 1:
            what = "is the text of several" if ids else "is neither id nor text of a question"
            hint = f"{', '.join(ids)}." if ids else did_you_mean(name, sorted(self._ids))
            raise UserError(f"{place}: '{name[:80]}' {what}. {hint}")
        return ids[0]
