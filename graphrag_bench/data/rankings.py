"""Somebody else's rankings: a TREC run, JSON or JSON lines, matched to the passages of a set."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from graphrag_bench.data.chunks import shared_ranks
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.rows import json_objects, read_text, warn
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.openai_compatible import without_reasoning
from graphrag_bench.text import squash

NO_PASSAGE = "no-passage-found"
"""The passage of a TREC run for a question that found none: such a run has no other way to say."""
_TREC = "question Q0 passage rank score tag"
_JSON = (
    '{"QUESTION": [PASSAGE, ...] or {PASSAGE: SCORE, ...}, ...}, rows {"question": ..., '
    '"documents": [PASSAGE, ...], "answer": ...}, or {"retrieved_docs": [[PASSAGE, ...], ...]}'
)
_FIELDS = frozenset({
    "question", "documents", "docs", "answer", "scores", "doc_scores", "retrieved_docs", "answers",
})  # fmt: skip
Places = Sequence[Sequence[str]]
"""Passages by rank; those of one rank were found together."""
RankingRow = tuple[str, str, Places, object]


@dataclass(frozen=True)
class Ranking:
    """The ids of the passages of one question, best first, their ranks from 1, and its answer."""

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
    A question is an id, or a text; one that is unknown or comes twice is a UserError, and so is an
    answer that is no text: a list of texts is one where the question wants a list.
    """
    matcher = _Matcher(dataset)
    if not (first := read_text(path).lstrip()[:1]):
        raise UserError(f"{path} is empty.")
    is_json = first in "{["
    rankings: dict[str, Ranking] = {}
    for place, name, places, answer in _json(path, dataset) if is_json else _trec(path):
        question = matcher.question(place, name)
        if question in rankings:
            raise UserError(f"{place}: question '{question}' was there before.")
        ranks = shared_ranks(
            [one for passage in passages for one in matcher.documents(passage)]
            for passages in places
        )
        wants_list = dataset.card.form_of(dataset.gold[question].type) == "list"
        text = None if answer is None else _answer(f"{place}, '{question}'", answer, wants_list)
        rankings[question] = Ranking(tuple(ranks), tuple(ranks.values()), text)
    if not rankings:
        raise UserError(f"{path} ranks no passages.")
    return Rankings(rankings, matcher.n_passages, tuple(matcher.unmatched))


def _trec(path: Path) -> Iterator[RankingRow]:
    questions: dict[str, dict[tuple[float, int], list[str]]] = {}
    lines: dict[tuple[str, float, int], int] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            question, _, passage, rank, score, _ = line.split()
            key = _negative(score), int(rank)
        except ValueError:
            raise UserError(
                f"{path}, line {number}: a line of a TREC run is {_TREC}, not '{line[:80]}'."
            ) from None
        lines.setdefault((question, *key), number)
        places = questions.setdefault(question, {})
        if passage != NO_PASSAGE:
            places.setdefault(key, []).append(passage)
    for question, places in questions.items():
        worst = -math.inf  # the last rank of a better score
        for score, group in groupby(sorted(places), key=itemgetter(0)):
            ranks = [rank for _, rank in group]
            if ranks[0] < worst:
                place = f"{path}, line {lines[question, score, ranks[0]]}"
                raise UserError(
                    f"{place}: question '{question}' has a better score below rank "
                    f"{ranks[0]}. TREC ranks by score, the highest first."
                )
            worst = max(worst, ranks[-1])
        yield str(path), question, [places[key] for key in sorted(places)], None


def _json(path: Path, dataset: Dataset) -> Iterator[RankingRow]:
    unread: dict[str, None] = {}
    for place, item in json_objects(path):
        if not isinstance(item, dict):
            raise UserError(f"{place}: what is read is {_JSON}.")
        is_row = isinstance(item.get("question"), str)
        if not is_row and "retrieved_docs" not in item:
            for name, passages in item.items():
                yield place, name, _places(f"{place}, '{name}'", passages), None
            continue
        unread |= dict.fromkeys(name for name in item if name not in _FIELDS)
        if is_row:
            passages = item["documents"] if "documents" in item else item.get("docs")
            for name in ("scores", "doc_scores"):
                if item.get(name) is not None:
                    _check_order(f"{place}, '{name}'", passages, item[name])
            yield place, item["question"], _places(place, passages), item.get("answer")
        else:
            yield from _in_order(place, item, dataset)
    if unread:
        warn(f"{path}: fields that are not read: {', '.join(unread)}.")


def _negative(score: object) -> float:
    """The score as a key that sorts the highest first; raises ValueError for what is none."""
    number = isinstance(score, str | int | float) and not isinstance(score, bool)
    if not number or math.isnan(value := float(score)):  # type: ignore[arg-type]
        raise ValueError(score)
    return -value


def _in_order(place: str, item: Mapping[str, Any], dataset: Dataset) -> Iterator[RankingRow]:
    every, lists = dataset.questions, item["retrieved_docs"]
    answers = item.get("answers") or [None] * len(every)
    for name, values in (("retrieved_docs", lists), ("answers", answers)):
        if not isinstance(values, list) or len(values) != len(every):
            raise UserError(f"{place}: {name} is no list for the {len(every)} questions in order.")
    for question, passages, answer in zip(every, lists, answers, strict=True):
        yield place, question.id, _places(f"{place}, '{question.id}'", passages), answer


def _places(place: str, passages: object) -> Places:
    if isinstance(passages, dict):  # passages with scores, as ranx and BEIR write them
        groups: dict[float, list[str]] = defaultdict(list)
        for name, score in passages.items():
            try:
                groups[_negative(score)].append(name)
            except ValueError:
                raise UserError(f"{place}: passage '{name}' has the score {score!r}.") from None
        return [groups[key] for key in sorted(groups)]
    if not isinstance(passages, list) or not all(type(p) in (str, int) for p in passages):
        raise UserError(f"{place}: a list of passages was expected, as in {_JSON}.")
    return [[str(passage)] for passage in passages]


def _check_order(place: str, passages: object, scores: object) -> None:
    try:
        keys = [_negative(score) for score in scores] if isinstance(scores, list) else []
    except ValueError:
        keys = []
    if not isinstance(passages, list) or len(keys) != len(passages):
        raise UserError(f"{place}: no list of a number for each passage.")
    if keys != sorted(keys):
        raise UserError(f"{place}: the passages are not in the order of their scores; sort them.")


def _answer(place: str, value: object, wants_list: bool) -> str:
    if wants_list and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(f"ans: {' '.join(one.split())}" for one in value)
    number = type(value) is int or (type(value) is float and math.isfinite(value))
    if isinstance(value, str) or number:
        return without_reasoning(str(value))
    raise UserError(f"{place}: the answer {value!r:.60} is no text, and not null.")


class _Matcher:
    """Passages and questions of a data set by id and by text, white space aside."""

    def __init__(self, dataset: Dataset) -> None:
        self.ids = {document.id for document in dataset.documents}
        self.ids |= {name for gold in dataset.gold.values() for name in gold.evidence}
        self.n_passages = 0
        self.unmatched: list[str] = []
        self._texts: dict[str, dict[str, None]] = defaultdict(dict)
        for document in dataset.documents:
            for text in (document.passage, document.text):
                self._texts[squash(text)][document.id] = None
        self._ids = {question.id for question in dataset.questions}
        self._questions: dict[str, list[str]] = defaultdict(list)
        for question in dataset.questions:
            self._questions[squash(question.text)].append(question.id)

    def documents(self, passage: str) -> Sequence[str]:
        """The documents of a passage; of an unmatched one itself, or a fingerprint of its text."""
        self.n_passages += 1
        if passage in self.ids:
            return [passage]
        if documents := self._texts.get(squash(passage)):
            return list(documents)
        self.unmatched.append(passage)
        return [passage if len(passage.split()) == 1 else f"unmatched-{digest(passage)}"]

    def question(self, place: str, name: str) -> str:
        if name in self._ids:
            return name
        ids = self._questions.get(squash(name), [])
        if len(ids) != 1:
            what = "is the text of several" if ids else "is neither id nor text of a question"
            hint = f"{', '.join(ids)}." if ids else did_you_mean(name, sorted(self._ids))
            raise UserError(f"{place}: '{name[:80]}' {what}. {hint}")
        return ids[0]
