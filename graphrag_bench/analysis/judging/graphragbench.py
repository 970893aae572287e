"""The metrics of GraphRAG-Bench (Xiang et al. 2025), asked for by name.

Formulas and steps are those of its released evaluation (GraphRAG-Bench/GraphRAG-Benchmark,
`Evaluation/metrics`); the prompts are ours. Deviations: statements are named by number, so that
each is classed once; texts are not cut (there: contexts at 20,000 signs, references and answers at
3,000); a reply that cannot be read leaves no value, where correctness there is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import BaseModel

from graphrag_bench.analysis.judging.cases import (
    PROMPTS,
    Bench,
    Case,
    Judgement,
    ask_judge,
    judgement_of,
)
from graphrag_bench.analysis.judging.claims import claims
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import DECIMALS

CLASSED = Prompt(f"{PROMPTS}/classed.j2")
COVERED = Prompt(f"{PROMPTS}/covered.j2")
RATED = Prompt(f"{PROMPTS}/context_rated.j2")
HELD = Prompt(f"{PROMPTS}/statements_held.j2")
FACTS, LIKENESS = 0.75, 0.25
"""The weights of both parts of correctness: F1 of the statements, and likeness of the vectors."""
_BEST = 2

Claimed = list[str] | UnreadableReply | CallFailed


class Classed(BaseModel):
    """What the prompt of correctness returns: numbers of statements."""

    supported: list[int]
    missing: list[int]


class Numbered(BaseModel):
    """The numbers of the statements that a text holds."""

    held: list[int]


class Rated(BaseModel):
    """What the prompt of context relevance returns."""

    score: Literal[0, 1, 2]


def answer_correctness(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """0.75 of the F1 of the answer's statements and 0.25 of its likeness to the gold, in 0..1.

    True positives are the answer's statements that the gold supports, false positives the others,
    false negatives the gold's statements that the answer lacks. Likeness is (cosine + 1) / 2 of
    both vectors. An answer that claims nothing has F1 0; a gold answer whose statements cannot be
    read leaves no value.
    Source: Xiang et al. 2025, `answer_accuracy.py` (the tables' ACC).
    """
    golds = [_gold(case) for case in cases]
    facts = _facts(bench, cases, golds)
    alike = _alike(bench, cases, golds)
    return [
        one
        if one.value is None
        else Judgement(round(FACTS * one.value + LIKENESS * likeness, DECIMALS))
        for one, likeness in zip(facts, alike, strict=True)
    ]


def coverage(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the gold answer's statements that the answer holds.

    Source: Xiang et al. 2025, `coverage.py` (the tables' Cov).
    """
    wanted = claims(bench, cases, [_gold(case) for case in cases])
    chats = {
        row: COVERED.render(
            {"question": cases[row].question, "statements": texts, "answer": cases[row].answer}
        )
        for row, texts in enumerate(wanted)
        if isinstance(texts, list) and texts
    }
    found = _shares(bench, cases, chats, {row: len(_listed(wanted[row])) for row in chats})
    return [found.get(row) or _without(texts) for row, texts in enumerate(wanted)]


def context_relevance(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """Whether the context holds what answers the question: all of it 1, a part 0.5, nothing 0.

    An empty context has 0, and so has one that is part of the question. Deviation: rated once; the
    released evaluation asks twice and takes the mean, which at temperature 0 is the same reply.
    Source: Xiang et al. 2025, `context_relevance.py`.
    """
    asked = [row for row, case in enumerate(cases) if _tells(case)]
    chats = [
        RATED.render({"question": cases[row].question, "passages": cases[row].passages})
        for row in asked
    ]
    replies = ask_judge(bench, [cases[row] for row in asked], chats, Rated, "context relevance")
    found = {
        row: judgement_of(one, lambda reply: reply.score / _BEST)
        for row, one in zip(asked, replies, strict=True)
    }
    return [found.get(row, Judgement(0.0)) for row in range(len(cases))]


def evidence_statements(bench: Bench, cases: Sequence[Case]) -> list[Judgement]:
    """The share of the statements of the evidence that the context holds; 0 for an empty one.

    Source: Xiang et al. 2025, `evidence_recall.py`.
    """
    chats = {
        row: HELD.render(
            {
                "question": case.question,
                "statements": list(case.statements),
                "passages": case.passages,
            }
        )
        for row, case in enumerate(cases)
        if case.passages
    }
    sizes = {row: len(cases[row].statements) for row in chats}
    found = _shares(bench, cases, chats, sizes)
    return [found.get(row, Judgement(0.0)) for row in range(len(cases))]


def _gold(case: Case) -> str:
    return ", ".join(case.golds) if case.listed else case.golds[0]


def _tells(case: Case) -> bool:
    text = "\n".join(case.passages or ()).strip()
    return bool(text) and text not in case.question


def _listed(claimed: Claimed) -> list[str]:
    return claimed if isinstance(claimed, list) else []


def _without(claimed: Claimed) -> Judgement:
    return judgement_of(claimed, _no_statement)


def _no_statement(_: list[str]) -> float:
    raise UnreadableReply("statements", "no statement of the reference answer")


def _facts(bench: Bench, cases: Sequence[Case], golds: Sequence[str]) -> list[Judgement]:
    wanted = claims(bench, cases, golds)
    found = {row: _without(one) for row, one in enumerate(wanted) if not _listed(one)}
    left = [row for row in range(len(cases)) if row not in found]
    said = claims(bench, [cases[row] for row in left], [cases[row].answer for row in left])
    asked: dict[int, tuple[list[str], list[str]]] = {}
    for row, one in zip(left, said, strict=True):
        if _listed(one):
            asked[row] = _listed(one), _listed(wanted[row])
        else:
            found[row] = judgement_of(one, lambda _: 0.0)
    chats = [
        CLASSED.render({"question": cases[row].question, "answer": sides[0], "gold": sides[1]})
        for row, sides in asked.items()
    ]
    replies = ask_judge(bench, [cases[row] for row in asked], chats, Classed, "correctness")
    for (row, sides), reply in zip(asked.items(), replies, strict=True):
        found[row] = judgement_of(reply, partial(_f1, sizes=(len(sides[0]), len(sides[1]))))
    return [found[row] for row in range(len(cases))]


def _f1(reply: Classed, sizes: tuple[int, int]) -> float:
    n_said, n_wanted = sizes
    true = len(_numbers(reply.supported, n_said, "correctness"))
    missed = len(_numbers(reply.missing, n_wanted, "correctness"))
    return 2 * true / (true + n_said + missed) if true else 0.0


def _numbers(given: Sequence[int], n: int, purpose: str) -> set[int]:
    if not set(given) <= set(range(1, n + 1)):
        raise UnreadableReply(purpose, f"{list(given)} of {n} statements")
    return set(given)


def _alike(bench: Bench, cases: Sequence[Case], golds: Sequence[str]) -> Sequence[float]:
    embedder = bench.embedder()
    answers = embedder.encode([case.answer for case in cases], kind="question")
    wanted = embedder.encode(list(golds), kind="question")
    cosines = np.clip((answers * wanted).sum(axis=1, dtype=np.float64), -1, 1)
    said = np.array([bool(case.answer.strip()) for case in cases])
    return [float(one) for one in np.where(said, (cosines + 1) / 2, 0.0)]


def _shares(
    bench: Bench,
    cases: Sequence[Case],
    chats: Mapping[int, Chat],
    sizes: Mapping[int, int],
) -> dict[int, Judgement]:
    replies = ask_judge(
        bench, [cases[row] for row in chats], list(chats.values()), Numbered, "statements held"
    )
    return {
        row: judgement_of(one, _share(sizes[row])) for row, one in zip(chats, replies, strict=True)
    }


def _share(n: int) -> Callable[[Numbered], float]:
    return lambda reply: fmean(
        number in _numbers(reply.held, n, "statements held") for number in range(1, n + 1)
    )
