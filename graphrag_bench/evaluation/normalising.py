"""Answers normalised for comparison: one normaliser, and the words of a text in any script."""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Form = Literal["unicode", "squad"]
Accents = Literal["keep", "strip"]

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
    Accents are letters, unless `accents="strip"` takes them off Latin and Greek letters.
    Source: the SQuAD evaluation script (Rajpurkar et al. 2016); Zhou et al. 2025, section 7.1;
    punctuation of all scripts and words of scripts without spaces: MLQA (Lewis et al. 2020).
    """

    form: Form = "unicode"
    accents: Accents = "keep"

    def __call__(self, text: str) -> str:
        """The normalised text; "" where nothing but articles and punctuation was there."""
        if self.form == "unicode":
            text = _folded(text).translate(_deleted)
            text = " ".join(word for word in text.split() if word not in _ARTICLES)
        else:
            text = text.lower().translate(_PUNCTUATION)
            text = " ".join(_WHOLE_ARTICLES.sub(" ", text).split())
        return _without_accents(text) if self.accents == "strip" else text

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


def _characters(found: list[str]) -> list[str]:
    """The words, those of scripts without spaces cut into characters with their marks."""
    cut: list[str] = []
    for word in found:
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
        kept = sign
        if category == "Cf":
            kept = ""
        elif category == "Nd":
            kept = str(unicodedata.decimal(sign))
        elif category[0] in "PS" or (self._punctuation and category[0] == "C"):
            kept = self._punctuation
        self[code] = kept
        return kept


_deleted, _parted = _Signs(""), _Signs(" ")


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    kept: list[str] = []
    bare = False
    for sign in unicodedata.normalize("NFD", text):
        if unicodedata.category(sign) == "Mn":
            if bare:
                continue
        else:
            bare = _has_accents(sign)
        kept.append(sign)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=4096)
def _has_accents(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith(("LATIN", "GREEK"))
