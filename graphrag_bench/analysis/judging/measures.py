"""The judged metrics of one answer: what each asks the judge, and the value of its reply.

A reply that cannot be read leaves the metric without a value; it never scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np
from pydantic import BaseModel

from graphrag_bench.analysis.judging.cases import (
    PROMPTS,
    Bench,
    Case,
    Judgement,
    NothingToJudge,
    ask_judge,
    judgement_of,
)
from graphrag_bench.analysis.judging.claims import STATEMENTS, claims
from graphrag_bench.analysis.judging.correctness import AGREES, OFFERED, correctness
from graphrag_bench.analysis.judging.graphragbench import (
    CLASSED,
    COVERED,
    HELD,
    RATED,
    answer_correctness,
    context_relevance,
    coverage,
    evidence_statements,
)
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.json_replies import ModelT
from graphrag_bench.prompts import Prompt

N_ASKED_BACK = 3
"""How many questions are asked back of one answer, in one reply.

Deviation: Es et al. ask for one question at a time with sampling; at temperature 0 those would be
the same question.
"""


SUPPORTED = Prompt(f"{PROMPTS}/supported.j2")
ASKED_BACK = Prompt(f"{PROMPTS}/asked_back.j2")
RECALL = Prompt(f"{PROMPTS}/context_recall.j2")
PRECISION = Prompt(f"{PROMPTS}/context_precision.j2")


class Supported(BaseModel):
    """One verdict of the second step of faithfulness."""

    number: int
    supported: bool


class SupportVerdicts(BaseModel):
    """What the second step of faithfulness returns."""

    verdicts: list[Supported]


class AskedBack(BaseModel):
    """What the prompt of answer relevance returns."""

    questions: list[str]
    evasive: bool


class Found(BaseModel):
    """A statement of the gold answer."""

    text: str
    found: bool


class Recalled(BaseModel):
    """What the prompt of context recall returns."""

    statements: list[Found]


class Useful(BaseModel):
    """What the prompt of context precision returns."""

    useful: list[int]


def faithfulness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the answer's statements that the context supports.

    No value for an answer that claims nothing. Source: Es et al. 2024, section 3.
    """
    judged: dict[int, Judgement] = {}
    claimed: dict[int, list[str]] = {}
    for row, one in enumerate(claims(bench, cases, [case.answer for case in cases])):
        if isinstance(one, list) and one:
            claimed[row] = one
        else:
            judged[row] = judgement_of(one, _no_claim)
    chats = [
        SUPPORTED.render({"statements": texts, "passages": cases[row].passages})
        for row, texts in claimed.items()
    ]
    second = ask_judge(bench, [cases[row] for row in claimed], chats, SupportVerdicts, "supported")
    for (row, texts), verdicts in zip(claimed.items(), second, strict=True):
        judged[row] = judgement_of(verdicts, partial(_supported, n=len(texts)))
    return [judged[row] for row in range(len(cases))]


def _no_claim(_: list[str]) -> float:
    raise NothingToJudge("the answer claims nothing")


def _supported(reply: SupportVerdicts, n: int) -> float:
    if sorted(one.number for one in reply.verdicts) != list(range(1, n + 1)):
        raise UnreadableReply("supported", f"{len(reply.verdicts)} verdicts on {n} statements")
    return fmean(one.supported for one in reply.verdicts)


def relevance(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The mean cosine of the question with questions made from the answer; 0 for an evasive one.

    A mean below 0 counts as 0. Source: Es et al. 2024, section 3; ragas for evasive answers.
    """
    chats = [ASKED_BACK.render({"answer": c.answer, "n": N_ASKED_BACK}) for c in cases]
    replies = ask_judge(bench, cases, chats, AskedBack, "asked back")
    return [
        judgement_of(one, partial(_likeness, case=case, bench=bench))
        for case, one in zip(cases, replies, strict=True)
    ]


def _likeness(reply: AskedBack, case: Case, bench: Bench) -> float:
    questions = [text for text in reply.questions if text.strip()][:N_ASKED_BACK]
    if not questions:
        raise UnreadableReply("asked back", "no question")
    vectors = bench.embedder().encode([case.question, *questions], kind="question")
    cosines = np.asarray(vectors[1:] @ vectors[0], np.float64)
    return 0.0 if reply.evasive else min(max(fmean(cosines), 0.0), 1.0)


def recall(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the gold answer's statements that the context holds; 0 for an empty one.

    Source: ragas.
    """
    return _of_contexts(bench, cases, RECALL, Recalled, _recalled)


def _recalled(_: Case, reply: Recalled) -> float:
    if not reply.statements:
        raise UnreadableReply("context recall", "no statement of the reference answer")
    return fmean(one.found for one in reply.statements)


def precision(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The mean of precision@rank over the ranks that hold a useful piece; 0 for an empty context.

    Source: ragas. Deviation: ragas asks about one piece at a time; here one prompt has all.
    """
    return _of_contexts(bench, cases, PRECISION, Useful, _precise)


def _precise(case: Case, reply: Useful) -> float:
    n = len(case.passages or ())
    if not set(reply.useful) <= set(range(1, n + 1)):
        raise UnreadableReply("context precision", f"{reply.useful} of {n} pieces")
    ranks = sorted(set(reply.useful))
    return fmean(n / rank for n, rank in enumerate(ranks, 1)) if ranks else 0.0


def _of_contexts(
    bench: Bench,
    cases: Sequence[Case],
    prompt: Prompt,
    model: type[ModelT],
    value: Callable[[Case, ModelT], float],
) -> list[Judgement]:
    packed = [case for case in cases if case.passages]
    replies = ask_judge(bench, packed, _with_gold(prompt, packed), model, prompt.name)
    found = {
        case.id: judgement_of(one, partial(value, case))
        for case, one in zip(packed, replies, strict=True)
    }
    return [found.get(case.id, Judgement(0.0)) for case in cases]


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


@dataclass(frozen=True)
class Measure:
    """A judged metric: its prompts, what a case must have for it, and how it is judged.

    One that is `named` is judged only where it is asked for by name.
    """

    judge: Callable[[Bench, Sequence[Case]], list[Judgement]]
    prompts: tuple[Prompt, ...]
    gold: bool = False
    context: bool = False
    embeds: bool = False
    statements: bool = False
    named: bool = False

    def fits(self, case: Case) -> bool:
        """Whether the case has what the metric is about."""
        had = (case.golds, case.context, case.statements)
        return all(have or not need for have, need in zip(had, self._needs, strict=True))

    @property
    def _needs(self) -> tuple[bool, bool, bool]:
        return self.gold, self.context, self.statements


MEASURES: Mapping[str, Measure] = {
    "judged_correctness": Measure(correctness, (OFFERED, AGREES), gold=True),
    "faithfulness": Measure(faithfulness, (STATEMENTS, SUPPORTED), context=True),
    "answer_relevance": Measure(relevance, (ASKED_BACK,), embeds=True),
    "context_recall": Measure(recall, (RECALL,), gold=True, context=True),
    "context_precision": Measure(precision, (PRECISION,), gold=True, context=True),
    "answer_correctness": Measure(
        answer_correctness, (STATEMENTS, STATEMENTS, CLASSED), gold=True, embeds=True, named=True
    ),
    "coverage": Measure(coverage, (STATEMENTS, COVERED), gold=True, named=True),
    "context_relevance": Measure(context_relevance, (RATED,), context=True, named=True),
    "evidence_statements": Measure(
        evidence_statements, (HELD,), context=True, statements=True, named=True
    ),
}
"""The judged metrics by name; every one is the better the higher, in 0..1."""
