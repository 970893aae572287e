"""Judged correctness: what an answer offers, and whether that is the gold and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from unicodedata import normalize

from pydantic import BaseModel

from graphrag_bench.analysis.judging.cases import (
    PROMPTS,
    Bench,
    Case,
    Judgement,
    ask_judge,
    judgement_of,
)
from graphrag_bench.evaluation.answers import abstained
from graphrag_bench.prompts import Prompt

OFFERED = Prompt(f"{PROMPTS}/offered.j2")
AGREES = Prompt(f"{PROMPTS}/agrees.j2")
LONG_LIST, WORDS_OF_ENTRY, WORDS_OF_NAME = 5, 6, 4
"""A text of so many entries of at most so many words is a list, one of so few words a name."""
_ENTRY = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(.*?)\s*$")
_BETWEEN = re.compile(r"[\n;,/]|\b(?:and|or|nor)\b", re.IGNORECASE)


class Offered(BaseModel):
    """What the first prompt returns."""

    offered: list[str]


class Agreed(BaseModel):
    """What the second prompt returns."""

    agrees: bool


def correctness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """1 for an answer that offers what the gold says and nothing else, else 0.

    What it offers is told by its form (`_by_form`), or by the judge, who is not shown the gold: a
    judge who sees that finds it in any list and overlooks the rest. Then `_mark` decides, or the
    judge is asked whether the two mean the same.
    """
    offered = {row: form for row, case in enumerate(cases) if (form := _by_form(case)) is not None}
    left = [row for row in range(len(cases)) if row not in offered]
    chats = [
        OFFERED.render({"question": c.question, "answer": c.answer, "listed": c.listed})
        for c in map(cases.__getitem__, left)
    ]
    replies = ask_judge(bench, [cases[row] for row in left], chats, Offered, "offered")
    found: dict[int, Judgement] = {}
    for row, one in zip(left, replies, strict=True):
        if isinstance(one, Offered):
            offered[row] = one.offered
        else:
            found[row] = judgement_of(one, _agreed)
    marks = {row: _mark(texts, cases[row]) for row, texts in offered.items()}
    found |= {row: Judgement(mark) for row, mark in marks.items() if mark is not None}
    unsettled = {row: _distinct(offered[row]) for row in sorted(marks) if marks[row] is None}
    found |= _compared(bench, cases, unsettled)
    return [found[row] for row in range(len(cases))]


def _by_form(case: Case) -> Sequence[str] | None:
    """What an answer offers that is nothing but names; None where it has to be read.

    That is the answer itself where it is the gold word for word or one short name, and its entries
    where it is a long list: no judge can make that right.
    """
    answer = case.answer
    if _mark([answer], case) == 1:
        return [answer]
    entries = _entries(answer)
    if len(answer.split()) <= WORDS_OF_NAME and len(entries) == 1:
        return None if abstained(answer) else [answer]
    short = all(len(entry.split()) <= WORDS_OF_ENTRY for entry in entries)
    return entries if short and len(entries) >= LONG_LIST else None


def _entries(text: str) -> list[str]:
    parts = (_ENTRY.sub(r"\1", part) for part in _BETWEEN.split(text))
    return [part for part in parts if part]


def _compared(
    bench: Bench, cases: Sequence[Case], offered: Mapping[int, Sequence[str]]
) -> dict[int, Judgement]:
    chats = [
        AGREES.render(
            {
                "question": cases[row].question,
                "golds": cases[row].golds,
                "listed": cases[row].listed,
                "offered": texts,
            }
        )
        for row, texts in offered.items()
    ]
    verdicts = ask_judge(bench, [cases[row] for row in offered], chats, Agreed, "agrees")
    return {row: judgement_of(one, _agreed) for row, one in zip(offered, verdicts, strict=True)}


def _agreed(reply: Agreed) -> float:
    return float(reply.agrees)


def _distinct(texts: Sequence[str]) -> list[str]:
    named: dict[str, str] = {}
    for text in texts:
        if plain := _plain(text):
            named.setdefault(plain, text)
    return list(named.values())


def _plain(text: str) -> str:
    """The text in lower case with single spaces, without punctuation at its ends.

    Signs within it stay, which the normaliser of answers deletes: -5 is not 5, nor C# C.
    """
    return " ".join(normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'“”‘’*")


def _mark(offered: Sequence[str], case: Case) -> float | None:
    """The mark of what is offered where it is plain, else None.

    What is gold word for word is right. Nothing, or another number of things than the gold has, is
    wrong. The gold is a list, or one thing by several names, of which one may name several things.
    """
    said, golds = ({_plain(text) for text in texts} - {""} for texts in (offered, case.golds))
    if said and (said == golds if case.listed else said <= golds):
        return 1.0
    sizes = {len(golds)} if case.listed else {1, *(len(_entries(gold)) for gold in case.golds)}
    return None if len(said) in sizes - {0} else 0.0
