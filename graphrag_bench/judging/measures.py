"""The judged metrics of one answer: what each asks the judge, and the value of its reply.

A reply that cannot be read leaves the metric without a value; it never scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Literal, TypeVar
from unicodedata import normalize

import numpy as np
from pydantic import BaseModel

from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.evaluation.answers import abstained
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.json_replies import ModelT
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.structured import ask_all
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import DECIMALS

ReplyT = TypeVar("ReplyT")
MAX_TOKENS = 1024
PROMPTS = "graphrag_bench.judging:prompts"
STATEMENTS = Prompt(f"{PROMPTS}/statements.j2")
OFFERED = Prompt(f"{PROMPTS}/offered.j2")
AGREES = Prompt(f"{PROMPTS}/agrees.j2")
SUPPORTED = Prompt(f"{PROMPTS}/supported.j2")
ASKED_BACK = Prompt(f"{PROMPTS}/asked_back.j2")
RECALL = Prompt(f"{PROMPTS}/context_recall.j2")
PRECISION = Prompt(f"{PROMPTS}/context_precision.j2")
N_ASKED_BACK = 3
"""How many questions are asked back of one answer, in one reply.

Deviation: Es et al. ask for one question at a time with sampling; at temperature 0 those would be
the same question.
"""
LONG_LIST, WORDS_OF_ENTRY, WORDS_OF_NAME = 5, 6, 4
"""A text of so many entries of at most so many words is a list, one of so few words a name."""
_ENTRY = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*(.*?)\s*$")
_BETWEEN = re.compile(r"[\n;,/]|\b(?:and|or|nor)\b", re.IGNORECASE)


class NothingToJudge(Exception):
    """The answer has nothing that the metric is about, as one that claims nothing."""


@dataclass(frozen=True)
class Case:
    """One answer to judge; `context` is a fingerprint of what the run recorded of its context.

    That is "" where it had none. `passages` are the texts of the context in ranked order, None
    where they are not at hand. `listed` says that the gold answers are one list rather than names
    of one thing. `statements` are those of the evidence, where the data set words them.
    """

    id: str
    question: str
    answer: str
    golds: tuple[str, ...] = ()
    passages: tuple[str, ...] | None = None
    listed: bool = False
    context: str = ""
    statements: tuple[str, ...] = ()

    @property
    def gold(self) -> str:
        """The gold answer as one text: the whole list, or the first name."""
        return ", ".join(self.golds) if self.listed else self.golds[0]


@dataclass(frozen=True)
class Judgement:
    """A value in 0..1, or None with what went wrong: `failed`, `unreadable` or `nothing`."""

    value: float | None
    missing: Literal["", "failed", "unreadable", "nothing"] = ""
    reason: str = ""


@dataclass(frozen=True)
class Bench:
    """What judges: a metered model, and the embedder of answer relevance."""

    meter: Metered
    embedder: Callable[[], Embedder]


def replies_by_row(
    bench: Bench,
    cases: Sequence[Case],
    chats: Mapping[int, Chat],
    model: type[ModelT],
    purpose: str,
) -> dict[int, ModelT | UnreadableReply | CallFailed]:
    """Return what the judge replied to the chats of some cases, by row, or the failure instead."""
    ids = [cases[row].id for row in chats]
    replies = ask_all(
        bench.meter, list(chats.values()), model, max_tokens=MAX_TOKENS, purpose=purpose, items=ids
    )
    return dict(zip(chats, replies, strict=True))


def judgement_of(
    reply: ReplyT | UnreadableReply | CallFailed, value: Callable[[ReplyT], float]
) -> Judgement:
    """Return the value of a reply, rounded to 6 decimals, or what is missing."""
    if isinstance(reply, CallFailed):
        return Judgement(None, "failed", str(reply))
    try:
        if isinstance(reply, UnreadableReply):
            raise reply
        return Judgement(round(value(reply), DECIMALS))
    except UnreadableReply as error:
        return Judgement(None, "unreadable", str(error))
    except NothingToJudge as error:
        return Judgement(None, "nothing", str(error))


def judge_by_row(
    bench: Bench,
    cases: Sequence[Case],
    chats: Mapping[int, Chat],
    model: type[ModelT],
    purpose: str,
    value: Callable[[int, ModelT], float],
) -> dict[int, Judgement]:
    """Return the judgement of each case that has a chat, by row; `value` takes row and reply."""
    replies = replies_by_row(bench, cases, chats, model, purpose)
    return {row: judgement_of(reply, partial(value, row)) for row, reply in replies.items()}


def in_range(numbers: Sequence[int], n: int, purpose: str, what: str) -> set[int]:
    """Return the numbers, each once; raise UnreadableReply for one that is not in 1..n."""
    if not set(numbers) <= set(range(1, n + 1)):
        raise UnreadableReply(purpose, f"{list(numbers)} of {n} {what}")
    return set(numbers)


class _Statements(BaseModel):
    statements: list[str]


Claims = list[str] | UnreadableReply | CallFailed


def claims(bench: Bench, cases: Sequence[Case], texts: Mapping[int, str]) -> dict[int, Claims]:
    """Return what the text of each row claims as an answer to its question, or the failure instead.

    A text that claims nothing has none. Source: Es et al. 2024, section 3.
    """
    chats = {
        row: STATEMENTS.render({"question": cases[row].question, "answer": text})
        for row, text in texts.items()
    }
    replies = replies_by_row(bench, cases, chats, _Statements, "statements")
    return {
        row: [text for text in one.statements if text.strip()]
        if isinstance(one, _Statements)
        else one
        for row, one in replies.items()
    }


class _Offered(BaseModel):
    offered: list[str]


class _Agreed(BaseModel):
    agrees: bool


def correctness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge 1 for an answer that offers what the gold says and nothing else, else 0.

    What it offers is read from its form (`_by_form`), or by the judge, who is not shown the gold: a
    judge who sees that finds it in any list and overlooks the rest. Then `_mark` decides, or the
    judge is asked whether the two mean the same.
    """
    offered = {row: form for row, case in enumerate(cases) if (form := _by_form(case)) is not None}
    chats = {
        row: OFFERED.render({"question": c.question, "answer": c.answer, "listed": c.listed})
        for row, c in enumerate(cases)
        if row not in offered
    }
    judgements: dict[int, Judgement] = {}
    for row, one in replies_by_row(bench, cases, chats, _Offered, "offered").items():
        if isinstance(one, _Offered):
            offered[row] = one.offered
        else:
            judgements[row] = judgement_of(one, lambda _: 0.0)
    chats = {}
    for row in sorted(offered):
        case, texts = cases[row], offered[row]
        if (mark := _mark(texts, case)) is not None:
            judgements[row] = Judgement(mark)
            continue
        named: dict[str, str] = {}
        for text in texts:
            if plain := _plain(text):
                named.setdefault(plain, text)
        chats[row] = AGREES.render(
            {
                "question": case.question,
                "golds": case.golds,
                "listed": case.listed,
                "offered": list(named.values()),
            }
        )
    judgements |= judge_by_row(
        bench, cases, chats, _Agreed, "agrees", lambda _, reply: float(reply.agrees)
    )
    return [judgements[row] for row in range(len(cases))]


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


def _plain(text: str) -> str:
    """Signs within a text stay, which the normaliser of answers deletes: -5 is not 5, nor C# C."""
    return " ".join(normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'“”‘’*")


def _mark(offered: Sequence[str], case: Case) -> float | None:
    """The mark of what is offered where it is plain, else None.

    What is gold word for word is right. Nothing, or another number of things than the gold has, is
    wrong. The gold is a list, or one thing by several names, of which one may name several things.
    """
    texts, golds = ({_plain(text) for text in texts} - {""} for texts in (offered, case.golds))
    if texts and (texts == golds if case.listed else texts <= golds):
        return 1.0
    sizes = {len(golds)} if case.listed else {1, *(len(_entries(gold)) for gold in case.golds)}
    return None if len(texts) in sizes - {0} else 0.0


class Supported(BaseModel):
    """A verdict on one statement."""

    number: int
    supported: bool


class _SupportVerdicts(BaseModel):
    verdicts: list[Supported]


def faithfulness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the share of the answer's statements that the context supports.

    No value for an answer that claims nothing. Source: Es et al. 2024, section 3.
    """

    def no_claim(_: list[str]) -> float:
        raise NothingToJudge("the answer claims nothing")

    def supported(row: int, reply: _SupportVerdicts) -> float:
        n = len(texts[row])
        if sorted(one.number for one in reply.verdicts) != list(range(1, n + 1)):
            raise UnreadableReply("supported", f"{len(reply.verdicts)} verdicts on {n} statements")
        return fmean(one.supported for one in reply.verdicts)

    claimed = claims(bench, cases, {row: case.answer for row, case in enumerate(cases)})
    texts = {row: one for row, one in claimed.items() if isinstance(one, list) and one}
    chats = {
        row: SUPPORTED.render({"statements": one, "passages": cases[row].passages})
        for row, one in texts.items()
    }
    judged = judge_by_row(bench, cases, chats, _SupportVerdicts, "supported", supported)
    return [judged.get(row) or judgement_of(one, no_claim) for row, one in claimed.items()]


class _AskedBack(BaseModel):
    questions: list[str]
    evasive: bool


def relevance(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the mean cosine of the question with questions made from the answer; 0 if evasive.

    A mean below 0 counts as 0. Source: Es et al. 2024, section 3; ragas for evasive answers.
    """

    def likeness(row: int, reply: _AskedBack) -> float:
        questions = [text for text in reply.questions if text.strip()][:N_ASKED_BACK]
        if not questions:
            raise UnreadableReply("asked back", "no question")
        vectors = bench.embedder().encode([cases[row].question, *questions], kind="question")
        cosines = np.asarray(vectors[1:] @ vectors[0], np.float64)
        return 0.0 if reply.evasive else min(max(fmean(cosines), 0.0), 1.0)

    chats = {
        row: ASKED_BACK.render({"answer": case.answer, "n": N_ASKED_BACK})
        for row, case in enumerate(cases)
    }
    return [*judge_by_row(bench, cases, chats, _AskedBack, "asked back", likeness).values()]


class Found(BaseModel):
    """A statement of the gold answer."""

    text: str
    found: bool


class _Recalled(BaseModel):
    statements: list[Found]


def recall(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the share of the gold answer's statements that the context holds; 0 for an empty one.

    Source: ragas.
    """

    def recalled(_: int, reply: _Recalled) -> float:
        if not reply.statements:
            raise UnreadableReply("context recall", "no statement of the reference answer")
        return fmean(one.found for one in reply.statements)

    return _of_contexts(bench, cases, RECALL, _Recalled, recalled)


class _Useful(BaseModel):
    useful: list[int]


def precision(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the mean of precision@rank over the ranks of useful pieces; 0 for an empty context.

    Source: ragas. Deviation: ragas asks about one piece at a time; here one prompt has all.
    """

    def precise(row: int, reply: _Useful) -> float:
        n = len(cases[row].passages or ())
        ranks = sorted(in_range(reply.useful, n, "context precision", "pieces"))
        return fmean(n / rank for n, rank in enumerate(ranks, 1)) if ranks else 0.0

    return _of_contexts(bench, cases, PRECISION, _Useful, precise)


def _of_contexts(
    bench: Bench,
    cases: Sequence[Case],
    prompt: Prompt,
    model: type[ModelT],
    value: Callable[[int, ModelT], float],
) -> list[Judgement]:
    chats = {
        row: prompt.render(
            {"question": case.question, "gold": case.gold, "passages": case.passages}
        )
        for row, case in enumerate(cases)
        if case.passages
    }
    judged = judge_by_row(bench, cases, chats, model, prompt.name, value)
    return [judged.get(row, Judgement(0.0)) for row in range(len(cases))]
