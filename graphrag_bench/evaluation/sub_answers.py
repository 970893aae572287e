"""Questions with several required answers: how many of them an answer holds."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.evaluation.answers import DEFAULT, Reading


def str_scores(
    answer: str, sub_answers: Sequence[Sequence[str]], reading: Reading = DEFAULT
) -> dict[str, float]:
    """STRREC, STREM and STRHIT: the share of the sub-answers found, whether all, whether any.

    A sub-answer is found when any of its aliases is contained in the answer, both normalised. In
    0..1, and strem <= strrec <= strhit; without sub-answers all are 0.
    Source: ALCE (Gao et al. 2023), on ASQA's short answers; Zhou et al. 2025, whose released code
    calls STRREC `str_em` and STREM `str_hit`, and has no STRHIT.
    """
    holds = reading.finder(answer)
    found = [any(holds(alias) for alias in aliases) for aliases in sub_answers]
    if not found:
        return {"strrec": 0.0, "strem": 0.0, "strhit": 0.0}
    share = sum(found) / len(found)
    return {"strrec": share, "strem": float(all(found)), "strhit": float(any(found))}
