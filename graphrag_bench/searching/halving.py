"""Successive halving: all candidates over few questions, the better half over twice as many, ...

Source: Jamieson and Talwalkar, AISTATS 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from graphrag_bench.searching.journal import Score

_FEWEST = 8
_RUNGS = 3
C = TypeVar("C")


@dataclass(frozen=True)
class Halved:
    """The scores of the last round that was reached, each with the row of its candidate.

    `n` is its number of questions; `scored` counts candidates by round, `unscored` those of the
    round that time cut.
    """

    rows: tuple[tuple[int, Score], ...]
    n: int
    scored: tuple[tuple[int, int], ...]
    unscored: int


def rounds(n_questions: int) -> list[int]:
    """The numbers of questions of the rounds: a quarter, a half, all; at least 8 of them."""
    sizes = [ceil(n_questions / 2**power) for power in reversed(range(_RUNGS))]
    return sorted({min(n_questions, max(size, _FEWEST)) for size in sizes})


def halved(
    candidates: Sequence[C],
    n_questions: int,
    score: Callable[[C, int], Score],
    out_of_time: Callable[[], bool],
) -> Halved:
    """The candidates that reach the last round, after each round the better half goes on.

    Better: the metric, then fewer tokens, then fewer bytes, then the row. A candidate that failed
    is out. Where time is over, the round before the cut one counts, unless the first is cut.
    """
    alive = list(range(len(candidates)))
    found: list[tuple[int, Score]] = []
    scored = []
    for n in rounds(n_questions):
        rows = []
        for row in alive:
            if out_of_time():
                break
            rows.append((row, score(candidates[row], n)))
        cut = len(alive) - len(rows)
        scored.append((n, len(rows)))
        if cut and found:
            return Halved(tuple(found), scored[-2][0], tuple(scored), cut)
        whole = [(row, one) for row, one in rows if not one.failed]
        found = sorted(whole, key=lambda pair: _better(*pair))
        if cut:
            return Halved(tuple(found), n, tuple(scored), cut)
        alive = [row for row, _ in found[: ceil(len(found) / 2)]]
    return Halved(tuple(found), n_questions, tuple(scored), 0)


def _better(row: int, score: Score) -> tuple[float, float, int, int]:
    return -score.value, score.tokens, score.size, row


def front(rows: Sequence[tuple[int, Score]]) -> list[tuple[int, Score]]:
    """The rows that no other beats in metric, tokens and bytes together, best metric first.

    Of rows that are equal in all three, the first stays. One that found nothing is not among them.
    """
    kept: list[tuple[int, Score]] = []
    for row, score in sorted(rows, key=lambda pair: _better(*pair)):
        if score.value > 0 and not any(_beats(other, score) for _, other in kept):
            kept.append((row, score))
    return kept


def _beats(other: Score, score: Score) -> bool:
    return other.value >= score.value and other.tokens <= score.tokens and other.size <= score.size
