"""The judged metrics of one answer: what each asks the judge, and the value its reply comes to.

A reply that cannot be read leaves the metric without a value; it never scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.evaluation.judged import answer_relevance, context_precision, share
from graphrag_bench.experiment.judging.replies import (
    AskedBack,
    Marked,
    Recalled,
    Statements,
    Useful,
    Verdicts,
)
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.json_replies import ModelT
from graphrag_bench.models.llm import CallFailed, Chat, Metered
from graphrag_bench.models.structured import ask_all
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import DECIMALS

MAX_TOKENS = 1024
N_ASKED_BACK = 3
"""How many questions are asked back of one answer, in one reply.

Deviation: Es et al. ask for one question at a time with sampling; at temperature 0 those would be
the same question.
"""


_PROMPTS = "graphrag_bench.experiment.judging:prompts"
CORRECTNESS = Prompt(f"{_PROMPTS}/correctness.j2")
STATEMENTS = Prompt(f"{_PROMPTS}/statements.j2")
SUPPORTED = Prompt(f"{_PROMPTS}/supported.j2")
ASKED_BACK = Prompt(f"{_PROMPTS}/asked_back.j2")
RECALL = Prompt(f"{_PROMPTS}/context_recall.j2")
PRECISION = Prompt(f"{_PROMPTS}/context_precision.j2")


@dataclass(frozen=True)
class Case:
    """One answer to judge; `context` is a fingerprint of what the run recorded of its context.

    That is "" where it had none. `passages` are the texts of the context in ranked order, None
    where they are not at hand. `listed` says that the gold answers are one list rather than names
    of one thing.
    """

    id: str
    question: str
    answer: str
    golds: tuple[str, ...] = ()
    passages: tuple[str, ...] | None = None
    listed: bool = False
    context: str = ""


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


def correctness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """1 for an answer that offers what the gold says and nothing else, else 0.

    An answer that offers several is wrong, whatever it contains and whatever the judge makes of
    it, unless the gold is a list.
    """
    chats = [
        CORRECTNESS.render(
            {"question": c.question, "answer": c.answer, "golds": c.golds, "listed": c.listed}
        )
        for c in cases
    ]
    replies = _asked(bench, cases, chats, Marked, "correctness")
    return [
        _judged(one, partial(_mark, listed=case.listed))
        for case, one in zip(cases, replies, strict=True)
    ]


def _mark(marked: Marked, listed: bool) -> float:
    """1 where the one thing offered agrees; several may be offered where the gold is a list."""
    offered = {normalise_name(one) for one in marked.offered if one.strip()}
    return float(marked.agrees and (len(offered) == 1 or (listed and bool(offered))))


def faithfulness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the answer's statements that the context supports.

    No value for an answer that claims nothing. Source: Es et al. 2024, section 3.
    """
    chats = [STATEMENTS.render({"question": c.question, "answer": c.answer}) for c in cases]
    judged: dict[int, Judgement] = {}
    claims: dict[int, list[str]] = {}
    for row, one in enumerate(_asked(bench, cases, chats, Statements, "statements")):
        texts = [s for s in one.statements if s.strip()] if isinstance(one, Statements) else []
        judged[row] = _judged(one, _no_claim)
        if texts:
            claims[row] = texts
    chats = [
        SUPPORTED.render({"statements": texts, "passages": cases[row].passages})
        for row, texts in claims.items()
    ]
    second = _asked(bench, [cases[row] for row in claims], chats, Verdicts, "supported")
    for (row, texts), verdicts in zip(claims.items(), second, strict=True):
        judged[row] = _judged(verdicts, partial(_supported, n=len(texts)))
    return [judged[row] for row in range(len(cases))]


def _no_claim(_: Statements) -> float:
    raise _NothingToJudge("the answer claims nothing")


def _supported(reply: Verdicts, n: int) -> float:
    """The share supported; a reply without exactly one verdict for each is unreadable."""
    if sorted(one.number for one in reply.verdicts) != list(range(1, n + 1)):
        raise UnreadableReply("supported", f"{len(reply.verdicts)} verdicts on {n} statements")
    return share([one.supported for one in reply.verdicts])


def relevance(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The mean cosine of the question with questions made from the answer; 0 for an evasive one.

    Source: Es et al. 2024, section 3.
    """
    chats = [ASKED_BACK.render({"answer": c.answer, "n": N_ASKED_BACK}) for c in cases]
    replies = _asked(bench, cases, chats, AskedBack, "asked back")
    return [
        _judged(one, partial(_likeness, case=case, bench=bench))
        for case, one in zip(cases, replies, strict=True)
    ]


def _likeness(reply: AskedBack, case: Case, bench: Bench) -> float:
    questions = [text for text in reply.questions if text.strip()][:N_ASKED_BACK]
    if not questions:
        raise UnreadableReply("asked back", "no question")
    vectors = bench.embedder().encode([case.question, *questions], kind="question")
    cosines = np.asarray(vectors[1:] @ vectors[0], np.float64)
    return answer_relevance([float(cosine) for cosine in cosines], reply.evasive)


def recall(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the gold answer's statements that the context holds. Source: ragas."""
    replies = _asked(bench, cases, _with_gold(RECALL, cases), Recalled, "context recall")
    return [_judged(one, _recalled) for one in replies]


def _recalled(reply: Recalled) -> float:
    if not reply.statements:
        raise UnreadableReply("context recall", "no statement of the reference answer")
    return share([one.found for one in reply.statements])


def precision(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The mean of precision@rank over the ranks that hold a useful piece. Source: ragas.

    Deviation: ragas asks about one piece at a time; here all pieces stand in one prompt.
    """
    replies = _asked(bench, cases, _with_gold(PRECISION, cases), Useful, "context precision")
    sizes = [len(case.passages or ()) for case in cases]
    return [_judged(one, partial(_precise, n=n)) for one, n in zip(replies, sizes, strict=True)]


def _precise(reply: Useful, n: int) -> float:
    if not set(reply.useful) <= set(range(1, n + 1)):
        raise UnreadableReply("context precision", f"{reply.useful} of {n} pieces")
    return context_precision([number in reply.useful for number in range(1, n + 1)])


def _with_gold(prompt: Prompt, cases: Sequence[Case]) -> list[Chat]:
    return [
        prompt.render(
            {
                "question": c.question,
                "gold": ", ".join(c.golds) if c.listed else c.golds[0],
                "passages": c.passages,
            }
        )
        for c in cases
    ]


def _asked(
    bench: Bench, cases: Sequence[Case], chats: Sequence[Chat], model: type[ModelT], purpose: str
) -> list[ModelT | UnreadableReply | CallFailed]:
    ids = [case.id for case in cases]
    return ask_all(bench.meter, chats, model, max_tokens=MAX_TOKENS, purpose=purpose, items=ids)


def _judged(
    reply: ModelT | UnreadableReply | CallFailed, value: Callable[[ModelT], float]
) -> Judgement:
    """The value of a reply, rounded to 6 decimals, or what is missing."""
    if isinstance(reply, CallFailed):
        return Judgement(None, "failed", str(reply))
    try:
        if isinstance(reply, UnreadableReply):
            raise reply
        return Judgement(round(value(reply), DECIMALS))
    except UnreadableReply as error:
        return Judgement(None, "unreadable", str(error))
    except _NothingToJudge as error:
        return Judgement(None, "nothing", str(error))


class _NothingToJudge(Exception):
    """An answer that claims nothing has no faithfulness."""


@dataclass(frozen=True)
class Measure:
    """A judged metric: its prompts, what a case must have for it, and how it is judged."""

    judge: Callable[[Bench, Sequence[Case]], list[Judgement]]
    prompts: tuple[Prompt, ...]
    gold: bool = False
    context: bool = False
    embeds: bool = False

    def fits(self, case: Case) -> bool:
        """Whether the case has what the metric is about."""
        return (bool(case.golds) or not self.gold) and (bool(case.context) or not self.context)


MEASURES: Mapping[str, Measure] = {
    "judged_correctness": Measure(correctness, (CORRECTNESS,), gold=True),
    "faithfulness": Measure(faithfulness, (STATEMENTS, SUPPORTED), context=True),
    "answer_relevance": Measure(relevance, (ASKED_BACK,), embeds=True),
    "context_recall": Measure(recall, (RECALL,), gold=True, context=True),
    "context_precision": Measure(precision, (PRECISION,), gold=True, context=True),
}
"""The judged metrics by name; every one is the better the higher, in 0..1."""
