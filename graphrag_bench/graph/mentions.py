"""Node names found word for word in a text, the longest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphrag_bench.text import normalise_name

SHORTEST = 3
"""Names with fewer letters and digits than this are never looked for."""

_WORDS = (
    "a about after all also am an and any are as at be been before both but by can could did do "
    "does during each for from had has have her here his how i if in into is it its may more most "
    "no nor not of off on one only or other our out over she should so some such than that the "
    "their them then there these they this those through to under until up was we were what when "
    "where which while who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_WORDS.split())
"""A name that is one of these words is never looked for."""


@dataclass(frozen=True)
class NameTable:
    """Rows by normalised name, and how many words the longest name with a first word has."""

    row_of: Mapping[str, int]
    longest: Mapping[str, int]

    @classmethod
    def of(cls, names: Iterable[str]) -> NameTable:
        """The table of names in row order; of equal names the first row counts.

        Left out are names of less than three letters and digits, and single function words.
        """
        row_of: dict[str, int] = {}
        longest: dict[str, int] = {}
        for row, name in enumerate(names):
            normal = normalise_name(name)
            words = normal.split()
            if len(normal.replace(" ", "")) < SHORTEST or normal in FUNCTION_WORDS:
                continue
            row_of.setdefault(normal, row)
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return cls(row_of, longest)

    def matches(self, text: str, *, proper: bool = False) -> list[tuple[str, int]]:
        """The names in a text, in its order, with their rows.

        With `proper` only those with a capital letter or a digit in the text, as proper names have
        and common nouns have not; all of them where the text has no capital letter after its first
        one, or is of a script without them.

        At every word the longest name that begins there is taken, and reading goes on behind it,
        so that matches never overlap. Whole words only, both sides normalised as names are. Takes
        time in the number of words and in the length of the names, not in the number of names.
        """
        words, marked = _words_of(text)
        every = not proper or not any(marked[1:])
        found = []
        start = 0
        while start < len(words):
            n_words = min(self.longest.get(words[start], 0), len(words) - start)
            while n_words and " ".join(words[start : start + n_words]) not in self.row_of:
                n_words -= 1
            if n_words and (every or any(marked[start : start + n_words])):
                name = " ".join(words[start : start + n_words])
                found.append((name, self.row_of[name]))
            start += max(n_words, 1)
        return found


def _words_of(text: str) -> tuple[list[str], list[bool]]:
    """The normalised words of a text, and for each whether a capital or a digit is where it is."""
    pairs = [
        (word, any(char.isupper() or char.isdigit() for char in written))
        for written in text.split()
        for word in normalise_name(written).split()
    ]
    return [word for word, _ in pairs], [mark for _, mark in pairs]
