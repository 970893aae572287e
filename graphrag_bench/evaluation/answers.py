"""Answers against gold answers over one normaliser, and the form of an answer."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_bench.text import DELETED, characters, folded, unspaced, words

NormalForm = Literal["unicode", "squad", "raw"]
Containment = Literal["substring", "token_boundary"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
_WHOLE_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = ".,;:!?\"'()[]{}“”‘’«»。、，；：！？「」（）"
_SPECIAL = frozenset({"yes", "no", "noanswer"})


def normalised(text: str, form: NormalForm = "unicode") -> str:
    """Return a text as answers are compared; "" where nothing but articles and punctuation was.

    `unicode` and `squad` give the same for ASCII text: lower case, no punctuation (deleted, so that
    "well-known" is "wellknown"), no English articles, single spaces. `squad` knows no other
    punctuation than ASCII's, as the papers' scripts do. `unicode` also unites what looks the same
    (NFKC, case folding, digits of any script), deletes punctuation and symbols of every script and
    characters without a width, and takes each character of a script without spaces as a word, with
    or without spaces around it. Accents are letters. `raw` keeps articles and signs, and strips
    only the punctuation around a word: it compares what the other forms would leave nothing of.
    Source: the SQuAD evaluation script (Rajpurkar et al. 2016); Zhou et al. 2025, section 7.1;
    punctuation of all scripts and words of scripts without spaces: MLQA (Lewis et al. 2020).
    """
    if form == "squad":
        text = text.lower().translate(_PUNCTUATION)
        return " ".join(_WHOLE_ARTICLES.sub(" ", text).split())
    if form == "raw":
        return unspaced(" ".join(word.strip(_MARKS) or word for word in folded(text).split()))
    text = unspaced(folded(text).translate(DELETED))
    return " ".join(word for word in text.split() if word not in _ARTICLES)


@dataclass(frozen=True)
class Reading:
    """How answers are compared with gold answers."""

    form: NormalForm = "unicode"
    containment: Containment = "substring"

    def normal(self, text: str) -> str:
        """Return the normalised text; a bar, which parts aliases, is a space."""
        return normalised(text.replace("|", " "), self.form)

    def tokens(self, text: str) -> list[str]:
        """Return the words of the normalised text."""
        tokens = self.normal(text).split()
        return tokens if self.form == "squad" else characters(tokens)

    def finder(self, text: str) -> Callable[[str], bool]:
        """Return whether a gold answer is contained in this text, both normalised.

        `substring` compares characters, as the papers do ("no" is found in "know");
        `token_boundary` compares whole words, and so is a gold answer that normalises to nothing.
        """
        plain, raw = self._compared(text), _spaced(raw_words(text))

        def holds(gold: str) -> bool:
            if wanted := self._compared(gold):
                return wanted in plain
            return bool(words := raw_words(gold)) and _spaced(words) in raw

        return holds

    def _compared(self, text: str) -> str:
        return self.normal(text) if self.containment == "substring" else _spaced(self.tokens(text))


def raw_words(text: str) -> list[str]:
    """Return the words by which answers are compared that the other forms leave nothing of."""
    return characters(normalised(text, "raw").split())


def _spaced(tokens: Sequence[str]) -> str:
    return f" {' '.join(tokens)} " if tokens else ""


DEFAULT = Reading()


def accuracy(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Return 1.0 where any gold answer is contained in the answer, both normalised, else 0.0.

    It rewards long answers: read it with their length.
    """
    holds = reading.finder(answer)
    return float(any(holds(gold) for gold in golds))


def exact_match(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Return 1.0 where the answer equals any gold answer, both normalised, else 0.0.

    A gold answer that normalises to nothing ("A", "The The", "$") is compared raw, by every metric.
    """
    plain, raw = reading.normal(answer), raw_words(answer)
    return float(any(
        plain == wanted if (wanted := reading.normal(gold)) else raw == raw_words(gold) != []
        for gold in golds
    ))  # fmt: skip


def overlap(answer: str, gold: str, reading: Reading = DEFAULT) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the tokens of one gold answer, as multisets, in 0..1.

    Where either is exactly yes, no or noanswer and the two differ, all three are 0.
    """
    mine, theirs = reading.tokens(answer), reading.tokens(gold)
    if not theirs:
        mine, theirs = raw_words(answer), raw_words(gold)
    if mine != theirs and {" ".join(mine), " ".join(theirs)} & _SPECIAL:
        return 0.0, 0.0, 0.0
    shared = sum((Counter(mine) & Counter(theirs)).values())
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def recall(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Return the largest share of a gold answer's tokens that the answer holds, in 0..1."""
    return max((overlap(answer, gold, reading)[1] for gold in golds), default=0.0)


def recall_concat(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Return the share of the tokens of all gold answers, one after another, that it holds.

    With many aliases no answer reaches 1. Source: deduced from the recall that Zhou et al. 2025
    print for PopQA, which is far below their accuracy.
    """
    return overlap(answer, " ".join(golds), reading)[1] if golds else 0.0


def f1(answer: str, golds: Sequence[str], reading: Reading = DEFAULT) -> float:
    """Return the largest token F1 with any gold answer, in 0..1."""
    return max((overlap(answer, gold, reading)[2] for gold in golds), default=0.0)


def str_scores(
    answer: str, sub_answers: Sequence[Sequence[str]], reading: Reading = DEFAULT
) -> dict[str, float]:
    """Return `strrec`, `strem` and `strhit`: the share of sub-answers found, whether all, any.

    A sub-answer is found when any of its aliases is contained in the answer, both normalised. In
    0..1, and strem <= strrec <= strhit; without sub-answers all are 0.
    Source: ALCE (Gao et al. 2023), on ASQA's short answers; Zhou et al. 2025, whose released code
    calls STRREC `str_em` and STREM `str_hit`, and has no STRHIT.
    """
    holds = reading.finder(answer)
    hits = [any(holds(alias) for alias in aliases) for aliases in sub_answers]
    if not hits:
        return {"strrec": 0.0, "strem": 0.0, "strhit": 0.0}
    share = sum(hits) / len(hits)
    return {"strrec": share, "strem": float(all(hits)), "strhit": float(any(hits))}


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
    """Return the number of words, articles included; a character of Chinese is a word."""
    return float(len(words(answer)))


def gold_words(golds: Sequence[str], *, together: bool = False) -> float:
    """Return the words of the longest gold answer, or of all where all are wanted `together`."""
    counts = [len(words(gold)) for gold in golds]
    return float(sum(counts) if together else max(counts, default=0))


def abstained(answer: str) -> float:
    """Return 1.0 where an answer abstains or is empty, else 0.0.

    A list of English phrases decides, at the beginning ("I do not know", "insufficient
    information", "the context does not mention ...") or as the whole ("unknown"). Where a set's
    gold answer is such a phrase, abstaining is right, and accuracy says so.
    """
    tokens = words(answer)
    whole, beginning = " ".join(tokens), " ".join(tokens[:_BEGINNING])
    return float(whole in _NOTHING or _REFUSES.search(beginning) is not None)
