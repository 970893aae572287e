"""Answers against gold answers over one normaliser, and the form of an answer."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Form = Literal["unicode", "squad"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
_WHOLE_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, kana and Han: written without spaces between words."""


@dataclass(frozen=True)
class Normaliser:
    """How an answer is normalised before it is compared.

    `unicode` and `squad` give the same for ASCII text: lower case, no punctuation (deleted, so that
    "well-known" is "wellknown"), no English articles, single spaces. `squad` knows no other
    punctuation than ASCII's, as the papers' scripts do. `unicode` also unites what looks the same
    (NFKC, case folding, digits of any script), deletes punctuation and symbols of every script and
    characters without a width, and takes each character of a script without spaces as a word.
    Accents are letters.
    Source: the SQuAD evaluation script (Rajpurkar et al. 2016); Zhou et al. 2025, section 7.1;
    punctuation of all scripts and words of scripts without spaces: MLQA (Lewis et al. 2020).
    """

    form: Form = "unicode"

    def __call__(self, text: str) -> str:
        """The normalised text; "" where nothing but articles and punctuation was there."""
        if self.form == "unicode":
            text = _folded(text).translate(_deleted)
            return " ".join(word for word in text.split() if word not in _ARTICLES)
        text = text.lower().translate(_PUNCTUATION)
        return " ".join(_WHOLE_ARTICLES.sub(" ", text).split())

    def tokens(self, text: str) -> list[str]:
        """The words of the normalised text."""
        words = self(text).split()
        return _characters(words) if self.form == "unicode" else words


def words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters, marks and digits of any script.

    Every other character parts two words; characters of scripts without spaces are words of their
    own. For ASCII text these are the words of the `rouge-score` package.
    """
    return _characters(_folded(text).translate(_parted).split())


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _characters(tokens: list[str]) -> list[str]:
    cut: list[str] = []
    for word in tokens:
        if word.isascii() or not _UNSPACED.search(word):
            cut.append(word)
            continue
        joins = False
        for place, sign in enumerate(word):
            alone = _UNSPACED.match(sign) is not None
            mark = unicodedata.category(sign)[0] == "M"
            if (mark and place) or (joins and not alone):
                cut[-1] += sign
            else:
                cut.append(sign)
            joins = not alone
    return cut


class _Signs(dict[int, str]):
    def __init__(self, punctuation: str) -> None:
        """Replace punctuation, symbols and control characters by this."""
        super().__init__()
        self._punctuation = punctuation

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        category = unicodedata.category(sign)
        written = sign
        if category == "Cf":
            written = ""
        elif category == "Nd":
            written = str(unicodedata.decimal(sign))
        elif category[0] in "PS" or (self._punctuation and category[0] == "C"):
            written = self._punctuation
        self[code] = written
        return written


_deleted, _parted = _Signs(""), _Signs(" ")


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
            plain = self.normal(text)
            return lambda gold: bool(wanted := self.normal(gold)) and wanted in plain
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
    plain = reading.normal(answer)
    return float(any(plain == reading.normal(gold) for gold in golds))


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
    tokens = words(answer)
    whole, beginning = " ".join(tokens), " ".join(tokens[:_BEGINNING])
    return float(whole in _NOTHING or _REFUSES.search(beginning) is not None)
