"""Answer metrics over one normaliser: accuracy, exact match, token recall and F1, sub-answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_bench.evaluation.normalising import Normaliser

Containment = Literal["substring", "token_boundary"]
_SPECIAL = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True)
class Reading:
    """How answers are compared with gold answers."""

    normaliser: Normaliser = Normaliser()
    containment: Containment = "substring"

    def normal(self, text: str) -> str:
        """The normalised text; a bar, which parts aliases, is a space."""
        return self.normaliser(text.replace("|", " "))

    def tokens(self, text: str) -> list[str]:
        """The words of the normalised text."""
        return self.normaliser.tokens(text.replace("|", " "))

    def finder(self, text: str) -> Callable[[str], bool]:
        """Whether a gold answer is contained in this text, both normalised.

        `substring` compares characters, as the papers do ("no" is found in "know");
        `token_boundary` compares whole words. What normalises to nothing is found nowhere.
        """
        if self.containment == "substring":
            given = self.normal(text)
            return lambda gold: bool(wanted := self.normal(gold)) and wanted in given
        words = f" {' '.join(self.tokens(text))} "
        return lambda gold: bool(wanted := self.tokens(gold)) and f" {' '.join(wanted)} " in words


DEFAULT = Reading()


def accuracy(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Whether any gold answer is contained in the answer.

    1.0 or 0.0; both are normalised, and gold answers that normalise to nothing are skipped. It
    rewards long answers: read it with their length.
    """
    holds = reading.finder(answer)
    return float(any(holds(gold) for gold in golds))


def exact_match(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """1.0 when the answer equals any gold answer, both normalised, else 0.0."""
    given = reading.normal(answer)
    return float(any(given == reading.normal(gold) for gold in golds))


def overlap(answer: str, gold: str, reading: Reading = DEFAULT) -> tuple[float, float, float]:
    """Precision, recall and F1 of the tokens of one gold answer, as multisets, in 0..1.

    Where either is exactly yes, no or noanswer and the two differ, all three are 0.
    """
    mine, theirs = reading.tokens(answer), reading.tokens(gold)
    if mine != theirs and {" ".join(mine), " ".join(theirs)} & _SPECIAL:
        return 0.0, 0.0, 0.0
    shared = sum((Counter(mine) & Counter(theirs)).values())
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def recall(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """The largest share of a gold answer's tokens that the answer holds, in 0..1."""
    return max((overlap(answer, gold, reading)[1] for gold in golds), default=0.0)


def recall_concat(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """The share of the tokens of all gold answers, one after another, that the answer holds.

    With many aliases no answer reaches 1. Source: deduced from the recall that Zhou et al. 2025
    print for PopQA, which is far below their accuracy.
    """
    return overlap(answer, " ".join(golds), reading)[1] if golds else 0.0


def f1(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """The largest token F1 with any gold answer, in 0..1."""
    return max((overlap(answer, gold, reading)[2] for gold in golds), default=0.0)


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
