"""Answer metrics over one normaliser: accuracy, exact match, token recall and F1."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

Containment = Literal["substring", "token_boundary"]
_SPECIAL = frozenset({"yes", "no", "noanswer"})
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})


def normalise_answer(text: str) -> str:
    """The text in lower case, without ASCII punctuation and articles, with single spaces.

    Source: the SQuAD evaluation script (Rajpurkar et al. 2016); Zhou et al. 2025, section 7.1.
    """
    words = text.replace("|", " ").lower().translate(_PUNCTUATION).split()
    return " ".join(word for word in words if word not in _ARTICLES)


def accuracy(answer: str, golds: Sequence[str], containment: Containment = "substring") -> float:
    """1.0 when any gold answer is contained in the answer, both normalised, else 0.0.

    `substring` compares characters, as the papers do ("no" is found in "know"); `token_boundary`
    compares whole words. Gold answers that normalise to nothing are passed over.
    """
    given = normalise_answer(answer)
    wanted = [gold for gold in map(normalise_answer, golds) if gold]
    if containment == "token_boundary":
        given, wanted = f" {given} ", [f" {gold} " for gold in wanted]
    return float(any(gold in given for gold in wanted))


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1.0 when the answer equals any gold answer, both normalised, else 0.0."""
    given = normalise_answer(answer)
    return float(any(given == normalise_answer(gold) for gold in golds))


def overlap(answer: str, gold: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the tokens of one gold answer, as multisets, in 0..1.

    Where either is exactly yes, no or noanswer and the two differ, all three are 0.
    """
    given, wanted = normalise_answer(answer), normalise_answer(gold)
    if given != wanted and (given in _SPECIAL or wanted in _SPECIAL):
        return 0.0, 0.0, 0.0
    mine, theirs = given.split(), wanted.split()
    shared = sum((Counter(mine) & Counter(theirs)).values())
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def recall(answer: str, golds: Sequence[str]) -> float:
    """The largest share of a gold answer's tokens that the answer holds, in 0..1."""
    return max((overlap(answer, gold)[1] for gold in golds), default=0.0)


def f1(answer: str, golds: Sequence[str]) -> float:
    """The largest token F1 with any gold answer, in 0..1."""
    return max((overlap(answer, gold)[2] for gold in golds), default=0.0)


METRICS: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "accuracy": accuracy,
    "recall": recall,
    "exact_match": exact_match,
    "f1": f1,
}
"""The answer metrics by name; every one is the better the higher, in 0..1."""
