"""Scores from verdicts on single answers: shares, precision over ranks, likeness of questions."""

from __future__ import annotations

from collections.abc import Sequence


def share(verdicts: Sequence[bool]) -> float:
    """The share of verdicts that are true, in 0..1.

    Faithfulness is the share of an answer's statements that its context supports, context recall
    the share of the gold answer's statements that the context holds. Raises ValueError for no
    verdicts: nothing was claimed, which is neither perfect nor worthless.
    Source: Es et al. 2024, section 3 (faithfulness); ragas, context recall.
    """
    if not verdicts:
        raise ValueError("no statement to judge")
    return sum(verdicts) / len(verdicts)


def context_precision(useful: Sequence[bool]) -> float:
    """The mean of precision@rank over the ranks that hold a useful piece, in 0..1; 0 with none.

    `useful` is in ranked order. Raises ValueError for no pieces.
    Source: ragas, context precision.
    """
    if not useful:
        raise ValueError("no piece to judge")
    found = [rank for rank, one in enumerate(useful, 1) if one]
    return sum(n / rank for n, rank in enumerate(found, 1)) / len(found) if found else 0.0


def answer_relevance(similarities: Sequence[float], evasive: bool) -> float:
    """The mean cosine of the question with the questions asked back, in 0..1; 0 when evasive.

    A mean below 0 counts as 0. Raises ValueError for no similarities.
    Source: Es et al. 2024, section 3 (answer relevance); ragas for evasive answers.
    """
    if not similarities:
        raise ValueError("no question was asked back")
    return 0.0 if evasive else min(max(sum(similarities) / len(similarities), 0.0), 1.0)
