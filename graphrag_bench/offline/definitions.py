"""Short and other names that a text defines: acronyms in brackets, and "also known as"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphrag_bench.graph.name_dictionary import FUNCTION_WORDS

_BRACKETS = re.compile(r"\(([^()]{2,100})\)")
_SHORT = re.compile(r"[^\W_][\w.&/-]{1,9}")
_SENTENCE_END = re.compile(r"[.!?;:]\s")
_FEWEST_CAPITALS = 2
_ALSO = re.compile(
    r",?\s*(?:\(|\b(?:is|was|are|were)\s+)?(?:also|better|formerly|originally|commonly)\s+"
    r"(?:known as|called|named)\s+|,?\s*\(?\s*(?:a\.k\.a\.|aka|n\u00e9e)\s+|\s*\(born\s+(?=[^\W\d])"
)
_CLOSED = re.compile(r"\s*\([^()]*\),?\s*$")
_SMALL_WORDS = "of the von van de der del della di da du la le el al"
_INSIDE_NAMES = frozenset(_SMALL_WORDS.split())
_ABBREVIATED = frozenset({"mr.", "mrs.", "ms.", "dr.", "st."})
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DATE = re.compile(rf"\d+|.*\b(?:\d+ (?:{_MONTHS})|(?:{_MONTHS}) \d+)\b.*", re.I)
_MOST_WORDS = 7


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """The short and the long form of every acronym that a text defines, in order.

    "World Health Organization (WHO)" and "WHO (World Health Organization)". A short form is one
    word of 2 to 10 signs with two capitals or more. Its letters and digits are found from right to
    left in the words before it, at most min(n + 5, 2 n) for n of them, the first at the beginning
    of a word; the shortest such long form is taken. Of a long form in brackets all of it counts.
    Source: Schwartz and Hearst 2003, "A simple algorithm for identifying abbreviation definitions
    in biomedical text". Deviation: two capitals, where theirs takes any letter.
    """
    for found in _BRACKETS.finditer(text):
        inside = re.split(r"[;,]", found[1])[0].strip()
        before = _SENTENCE_END.split(text[: found.start()])[-1].split()
        if not before:
            continue
        if _is_short(inside):
            n = sum(char.isalnum() for char in inside)
            long = _long_form(inside, " ".join(before[-min(n + 5, 2 * n) :]))
            if long and inside not in long.split():
                yield inside, long
        elif _is_short(before[-1]) and " " in inside and _long_form(before[-1], inside) == inside:
            yield before[-1], inside


def also_known(text: str) -> Iterator[tuple[str, str]]:
    """The other name and the name wherever a text says that something has another one, in order.

    "X, also known as Y", "X (better known as Y)", "X (born Y)" and the like: the capitalised words
    that end before the phrase, brackets aside, and those that begin after it. Where there are
    none, as in "X is a town, also called Y", where they are a date or a word as "It", nothing is
    taken.
    """
    for found in _ALSO.finditer(text):
        name = _capitalised_end(_CLOSED.sub("", text[: found.start()]))
        alias = _capitalised_start(text[found.end() :])
        if _may_be_named(name) and _may_be_named(alias):
            yield alias, name


def _is_short(word: str) -> bool:
    capitals = sum(char.isupper() for char in word)
    return capitals >= _FEWEST_CAPITALS and _SHORT.fullmatch(word) is not None


def _long_form(short: str, words: str) -> str:
    letters = [char for char in short.casefold() if char.isalnum()]
    place = len(words)
    for number in range(len(letters) - 1, -1, -1):
        place -= 1
        while place >= 0 and not (
            words[place].casefold() == letters[number]
            and (number > 0 or place == 0 or not words[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return ""
    return words[place:]


def _may_be_named(name: str) -> bool:
    return bool(name) and name.lower() not in FUNCTION_WORDS and not _DATE.fullmatch(name)


def _capitalised_end(text: str) -> str:
    taken: list[str] = []
    for word in reversed(text.split()[-_MOST_WORDS:]):
        if taken and _ends_before(word):
            break
        if word in ("and", "or"):
            return ""  # "X and Y, also known as Z": Y may be the end of a longer name
        if not (word[0].isupper() or word[0].isdigit() or (taken and word in _INSIDE_NAMES)):
            break
        taken.insert(0, word)
    while taken and taken[0] in _INSIDE_NAMES:
        taken.pop(0)
    return " ".join(taken).rstrip(",")


def _capitalised_start(text: str) -> str:
    taken: list[str] = []
    for word in text.split()[:_MOST_WORDS]:
        own = word.rstrip(".,;:!?)\"'") if _ends_before(word) else word
        inside = bool(taken) and own in _INSIDE_NAMES or own.lower() == "the"
        if not own or not (own[0].isupper() or own[0].isdigit() or inside):
            break
        taken.append(own)
        if _ends_before(word):
            break
    while taken and taken[-1].lower() in _INSIDE_NAMES:
        taken.pop()
    return " ".join(taken)


def _ends_before(word: str) -> bool:
    initial = word[-1] == "." and (len(word) == 2 or word.lower() in _ABBREVIATED)
    return word[-1] in ".,;:!?)\"'" and not initial
