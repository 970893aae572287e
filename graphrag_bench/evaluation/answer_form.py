"""The form of answers, read with accuracy: how long they are, and how often none is given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphrag_bench.evaluation.normalising import words

_NOTHING = frozenset({
    "", "unknown", "none", "n a", "na", "no answer", "noanswer", "not available", "not known",
    "not given", "not mentioned", "not stated", "not specified", "not provided", "unanswerable",
    "no information", "no information available", "no information is available", "ans none",
    "ans unknown", "ans not available", "ans no information available", "cannot answer",
    "cannot be answered", "cannot be determined",
})  # fmt: skip
_REFUSES = re.compile(
    r"\b(?:i|we) (?:do not|don t|did not|didn t|cannot|can not|can t|could not|couldn t|have no|"
    r"am unable to|m unable to|am not able to|m not able to|was unable to) "
    r"(?:know|answer|find|determine|say|tell|see|provide|information)\b"
    r"|\b(?:insufficient|not enough) (?:information|data|context|evidence)\b"
    r"|\b(?:context|passages?|texts?|documents?|data|information|tables?|paths?) "
    r"(?:given |provided )?(?:do|does|did) ?(?:not|n t) "
    r"(?:hold|contain|mention|provide|state|specify|include|say|give|answer|have)\b"
)
_BEGINNING = 25
"""A phrase counts within so many first words: what comes later is part of an answer."""


def answer_words(answer: str) -> float:
    """The number of words of an answer, articles included; a character of Chinese is a word."""
    return float(len(words(answer)))


def gold_words(golds: Sequence[str], *, together: bool = False) -> float:
    """The words of the longest gold answer, or of all of them where all are wanted `together`."""
    counts = [len(words(gold)) for gold in golds]
    return float(sum(counts) if together else max(counts, default=0))


def abstained(answer: str) -> float:
    """1.0 when an answer says only that there is none, else 0.0; an empty answer is such a one.

    A list of English phrases decides, at the beginning ("I do not know", "insufficient
    information", "the context does not mention ...") or as the whole ("unknown"); an answer in
    other words is not found. Where a set's gold answer is such a phrase, abstaining is right, and
    accuracy says so.
    """
    said = words(answer)
    whole, beginning = " ".join(said), " ".join(said[:_BEGINNING])
    return float(whole in _NOTHING or _REFUSES.search(beginning) is not None)
