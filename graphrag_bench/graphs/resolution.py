"""Names of one thing merged without a model: redirects of titles, acronyms with their long form."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphrag_bench.algorithms.name_dictionary import Merge, bare, key_of
from graphrag_bench.text import normalise_name

_BRACKETS = re.compile(r"\(([^()]{2,100})\)")
_SHORT = re.compile(r"[^\W_][\w.&/-]{1,9}")
_SENTENCE_END = re.compile(r"[.!?;:]\s")


@dataclass(frozen=True)
class Name:
    """A name as read: its key, and what it is shown as."""

    key: str
    shown: str

    @classmethod
    def of(cls, text: str) -> "Name":
        """Return the name without brackets, a leading article and a possessive ending."""
        shorter = bare(text)
        return cls(key_of(shorter), normalise_name(shorter))


@dataclass(frozen=True)
class ChunkNames:
    """The names of one chunk; `title` is None where it has none, or titles are not read."""

    document: str
    title: Name | None
    names: tuple[Name, ...]
    text: str

    @property
    def every(self) -> tuple[Name, ...]:
        """The title, where there is one, and the names."""
        return self.names if self.title is None else (self.title, *self.names)


Definition = tuple[Name, Name, str]
"""An alias, the name that it stands for, and the document that says so."""


def merged_names(
    chunks: Sequence[ChunkNames], redirects: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Name], list[Merge]]:
    """Return the name that each alias stands for, by the alias's key, and the merges.

    `redirects` has, for each document, the other names of what its title names. Redirects come
    before acronyms. An alias with several names is left, and a title is no alias.
    """
    titles = {row.title.key for row in chunks if row.title}
    names: dict[str, Name] = {}
    merges: list[tuple[Name, str, str]] = []
    rules = {"redirects": _redirected(chunks, redirects), "acronyms": _abbreviated(chunks)}
    for rule, definitions in rules.items():
        by_alias: dict[str, dict[str, Definition]] = {}
        for alias, name, document in definitions:
            if alias.key in titles:
                alias, name = name, alias
            if alias.key not in titles and len(alias.key) > 1 and len(name.key) > 1:
                by_alias.setdefault(alias.key, {}).setdefault(name.key, (alias, name, document))
        for key, by_name in by_alias.items():
            alias, name, document = next(iter(by_name.values()))
            name = _end(name, names)
            if len(by_name) == 1 and key not in names and name.key != key:
                names[key] = name
                merges.append((alias, rule, document))
    ends = {key: _end(name, names) for key, name in names.items()}
    return ends, [
        Merge(alias.shown, ends[alias.key].shown, rule, document)
        for alias, rule, document in merges
    ]


def _end(name: Name, names: Mapping[str, Name]) -> Name:
    while name.key in names:
        name = names[name.key]
    return name


def _redirected(
    chunks: Iterable[ChunkNames], redirects: Mapping[str, Sequence[str]]
) -> Iterator[Definition]:
    titles = {row.document: row.title for row in chunks if row.title}
    for document, title in titles.items():
        yield from ((Name.of(alias), title, document) for alias in redirects.get(document, ()))


def _abbreviated(chunks: Iterable[ChunkNames]) -> Iterator[Definition]:
    for row in chunks:
        yield from (
            (Name.of(short), Name.of(long), row.document) for short, long in acronyms(row.text)
        )


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """Yield the short and the long form of every acronym that a text defines, in order.

    "World Health Organization (WHO)" and "WHO (World Health Organization)". A short form is one
    word of 2 to 10 signs with two capitals or more. Its letters and digits are found from right to
    left in the words before it, at most min(n + 5, 2 n) for n of them, the first at the beginning
    of a word; the shortest such long form is taken. Of a long form in brackets all of it counts.
    Source: Schwartz and Hearst 2003, "A simple algorithm for identifying abbreviation definitions
    in biomedical text". Deviation: two capitals, where theirs takes any letter.
    """
    for bracket in _BRACKETS.finditer(text):
        inside = re.split(r"[;,]", bracket[1])[0].strip()
        before = _SENTENCE_END.split(text[: bracket.start()])[-1].split()
        if not before:
            continue
        if _is_short(inside):
            n = sum(char.isalnum() for char in inside)
            long = _long_form(inside, " ".join(before[-min(n + 5, 2 * n) :]))
            if long and inside not in long.split():
                yield inside, long
        elif _is_short(before[-1]) and " " in inside and _long_form(before[-1], inside) == inside:
            yield before[-1], inside


def _is_short(word: str) -> bool:
    return sum(map(str.isupper, word)) >= 2 and _SHORT.fullmatch(word) is not None


def _long_form(short: str, words: str) -> str:
    letters = [char for char in short.casefold() if char.isalnum()]
    for start in reversed(range(len(words))):
        begins_word = start == 0 or not words[start - 1].isalnum()
        if begins_word and words[start].casefold() == letters[0]:
            rest = iter(words[start:].casefold())
            if all(letter in rest for letter in letters):
                return words[start:]
    return ""
