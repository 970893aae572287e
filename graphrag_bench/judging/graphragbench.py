"""The metrics of GraphRAG-Bench (Xiang et al. 2025), asked for by name.

Formulas and steps are those of its released evaluation (GraphRAG-Bench/GraphRAG-Benchmark,
`Evaluation/metrics`); the prompts are ours. Deviations: statements are named by number, so that
each is classed once; texts are not cut (there: contexts at 20,000 signs, references and answers at
3,000); a reply that cannot be read leaves no value, where correctness there is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import BaseModel

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.judging.measures import (
    PROMPTS,
    Bench,
    Case,
    Claims,
    Judgement,
    claims,
    in_range,
    judge_by_row,
    judgement_of,
)
from graphrag_bench.llm.calls import Chat
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import DECIMALS

CLASSED = Prompt(f"{PROMPTS}/classed.j2")
COVERED = Prompt(f"{PROMPTS}/covered.j2")
RATED = Prompt(f"{PROMPTS}/context_rated.j2")
HELD = Prompt(f"{PROMPTS}/statements_held.j2")
FACTS, LIKENESS = 0.75, 0.25
"""The weights of both parts of correctness: F1 of the statements, and likeness of the vectors."""
_BEST = 2


class _Classed(BaseModel):
    supported: list[int]
    missing: list[int]


class _Numbered(BaseModel):
    held: list[int]


class _Rated(BaseModel):
    score: Literal[0, 1, 2]


def answer_correctness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge 0.75 of the F1 of the answer's statements and 0.25 of its likeness to the gold, 0..1.

    True positives are the answer's statements that the gold supports, false positives the others,
    false negatives the gold's statements that the answer lacks. Likeness is (cosine + 1) / 2 of
    both vectors. An answer that claims nothing has F1 0; a gold answer whose statements cannot be
    read leaves no value.
    Source: Xiang et al. 2025, `answer_accuracy.py` (the tables' ACC).
    """
    return [
        one
        if one.value is None
        else Judgement(round(FACTS * one.value + LIKENESS * likeness, DECIMALS))
        for one, likeness in zip(_facts(bench, cases), _alike(bench, cases), strict=True)
    ]


def _facts(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    def f1(row: int, reply: _Classed) -> float:
        true = len(in_range(reply.supported, len(texts[row]), "correctness", "statements"))
        missed = len(in_range(reply.missing, len(golds[row]), "correctness", "statements"))
        return 2 * true / (true + len(texts[row]) + missed) if true else 0.0

    of_golds = claims(bench, cases, {row: case.gold for row, case in enumerate(cases)})
    golds = _listed(of_golds)
    of_answers = claims(bench, cases, {row: cases[row].answer for row in golds})
    texts = _listed(of_answers)
    chats = {
        row: CLASSED.render({"question": cases[row].question, "answer": one, "gold": golds[row]})
        for row, one in texts.items()
    }
    judged = {row: _no_gold(one) for row, one in of_golds.items() if row not in golds}
    judged |= {row: judgement_of(one, lambda _: 0.0) for row, one in of_answers.items()}
    judged |= judge_by_row(bench, cases, chats, _Classed, "correctness", f1)
    return [judged[row] for row in range(len(cases))]


def _listed(claimed: Mapping[int, Claims]) -> dict[int, list[str]]:
    return {row: one for row, one in claimed.items() if isinstance(one, list) and one}


def _no_gold(claimed: Claims) -> Judgement:
    def nothing(_: list[str]) -> float:
        raise UnreadableReply("statements", "no statement of the reference answer")

    return judgement_of(claimed, nothing)


def _alike(bench: Bench, cases: Sequence[Case]) -> list[float]:
    embedder = bench.embedder()
    answers = embedder.encode([case.answer for case in cases], kind="question")
    golds = embedder.encode([case.gold for case in cases], kind="question")
    cosines = np.clip((answers * golds).sum(axis=1, dtype=np.float64), -1, 1)
    there = np.array([bool(case.answer.strip()) for case in cases])
    return [float(one) for one in np.where(there, (cosines + 1) / 2, 0.0)]


def coverage(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the share of the gold answer's statements that the answer holds.

    Source: Xiang et al. 2025, `coverage.py` (the tables' Cov).
    """
    of_golds = claims(bench, cases, {row: case.gold for row, case in enumerate(cases)})
    golds = _listed(of_golds)
    chats = {
        row: COVERED.render(
            {"question": cases[row].question, "statements": one, "answer": cases[row].answer}
        )
        for row, one in golds.items()
    }
    judged = _shares(bench, cases, chats, golds)
    return [judged.get(row) or _no_gold(one) for row, one in of_golds.items()]


def evidence_statements(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge the share of the statements of the evidence that the context holds; 0 if it is empty.

    Source: Xiang et al. 2025, `evidence_recall.py`.
    """
    chats = {
        row: HELD.render({"question": c.question, "statements": list(c.statements),
                          "passages": c.passages})
        for row, c in enumerate(cases)
        if c.passages
    }  # fmt: skip
    judged = _shares(bench, cases, chats, {row: cases[row].statements for row in chats})
    return [judged.get(row, Judgement(0.0)) for row in range(len(cases))]


def _shares(
    bench: Bench,
    cases: Sequence[Case],
    chats: Mapping[int, Chat],
    statements: Mapping[int, Sequence[str]],
) -> dict[int, Judgement]:
    def share(row: int, reply: _Numbered) -> float:
        n = len(statements[row])
        numbers = in_range(reply.held, n, "statements held", "statements")
        return fmean(number in numbers for number in range(1, n + 1))

    return judge_by_row(bench, cases, chats, _Numbered, "statements held", share)


def context_relevance(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Judge whether the context holds what answers the question: all 1, a part 0.5, nothing 0.

    An empty context has 0, and so has one that is part of the question. Deviation: rated once; the
    released evaluation asks twice and takes the mean, which at temperature 0 is the same reply.
    Source: Xiang et al. 2025, `context_relevance.py`.
    """
    texts = ["\n".join(case.passages or ()).strip() for case in cases]
    chats = {
        row: RATED.render({"question": case.question, "passages": case.passages})
        for row, case in enumerate(cases)
        if texts[row] and texts[row] not in case.question
    }
    judged = judge_by_row(
        bench, cases, chats, _Rated, "context relevance", lambda _, reply: reply.score / _BEST
    )
    return [judged.get(row, Judgement(0.0)) for row in range(len(cases))]
