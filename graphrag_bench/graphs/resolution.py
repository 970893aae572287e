"""Names of one thing merged by rule, without a model, each merge with its rule and document."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_bench.algorithms.name_dictionary import Merge, bare, key_of
from graphrag_bench.text import normalise_name

_BRACKETS = re.compile(r"\(([^()]{2,100})\)")
_SHORT = re.compile(r"[^\W_][\w.&/-]{1,9}")
_SENTENCE_END = re.compile(r"[.!?;:]\s")
Rule = Literal["redirects", "acronyms", "initials", "surnames", "plurals"]
_PERSON = "PERSON"
_NO_SURNAMES = frozenset({"GPE", "LOC", "FAC", "NORP", "LANGUAGE"})
"""Labels of a short name that is no surname: places, peoples and languages."""
_GENERATIONS = frozenset({"jr", "sr", "ii", "iii", "iv"})
_PLURALS = (("ies", "y"), ("es", ""), ("s", ""))
_LONGEST_CHAIN = 8
Fits = Callable[[list[str], list[str]], bool]
Way = tuple[str, ...]


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """The short and the long form of every acronym that a text defines, in order.

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


@dataclass(frozen=True)
class Name:
    """A name as read: its key, what it is shown as, and the tagger's label ("" for none)."""

    key: str
    shown: str
    kind: str = ""

    @classmethod
    def of(cls, text: str, kind: str = "") -> "Name":
        """The name without brackets, a leading article and a possessive ending."""
        shorter = bare(text)
        return cls(key_of(shorter), normalise_name(shorter), kind)


@dataclass(frozen=True)
class ChunkNames:
    """What was read of one chunk; `title` is None where it has none, or titles are not read."""

    document: str
    title: Name | None
    names: tuple[Name, ...]
    text: str

    @property
    def every(self) -> tuple[Name, ...]:
        """The title, where there is one, and the names."""
        return self.names if self.title is None else (self.title, *self.names)


Pairs = Iterable[tuple[Name, Name, str]]
"""Aliases, each with the name that it stands for and the document that says so."""


class Resolution:
    """Names by alias, everywhere or in one document."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._merges: list[tuple[Name, str, str, str, bool]] = []

    @property
    def merges(self) -> tuple[Merge, ...]:
        """All merges in the order they were found, each with the name at the end of its chain."""
        return tuple(
            Merge(alias.shown, self.shown[self.name(key, document)], rule, document, everywhere)
            for alias, key, rule, document, everywhere in self._merges
        )

    def name(self, key: str, document: str) -> str:
        """The key that a key stands for in a document, along the merges; itself where none is."""
        for _ in range(_LONGEST_CHAIN):
            other = self._next(key, document)
            if other == key:
                break
            key = other
        return key

    def merge(self, alias: Name, name: Name, rule: str, document: str, everywhere: bool) -> None:
        """Take an alias for a name, unless it is taken already or the name stands for it."""
        scope = "" if everywhere else document
        known = self._next(alias.key, scope) != alias.key
        if known or self.name(name.key, scope) == alias.key:
            return
        self._names[scope, alias.key] = name.key
        self.shown.setdefault(name.key, name.shown)
        self._merges.append((alias, name.key, rule, document, everywhere))

    def merge_agreed(self, pairs: Pairs, titles: Collection[str], rule: str) -> None:
        """Take aliases for names everywhere where all pairs of an alias have the same name."""
        by_alias: dict[str, dict[str, tuple[Name, Name, str]]] = {}
        for alias, name, document in _to_titles(pairs, titles):
            by_alias.setdefault(alias.key, {}).setdefault(name.key, (alias, name, document))
        for names in by_alias.values():
            if len(names) == 1:
                alias, name, document = next(iter(names.values()))
                self.merge(alias, name, rule, document, everywhere=True)

    def _next(self, key: str, scope: str) -> str:
        inside = self._names.get((scope, key))
        return self._names.get(("", key), key) if inside is None else inside


def resolution(
    readings: Sequence[ChunkNames], redirects: Mapping[str, Sequence[str]], rules: Sequence[Rule]
) -> Resolution:
    """The merges of the names of all chunks by these rules, whatever order they are given in.

    `redirects` has the other names of what each document's title names. Everywhere hold
    `redirects`, and those `acronyms` whose long form is the same wherever one is next to it; of
    these an alias with several names is left. In one document hold its `acronyms`; `initials`
    ("M. Curie", "Wilhelm Roentgen" without the middle name) and `surnames`, where exactly one
    longer name there ends so and is a person; `plurals`, where the singular has the same label and
    comes as often (names of several words: everywhere), never of persons. A title of a passage is
    not merged into another name.
    """
    merges, labels = Resolution(), _Labels(readings)
    if "redirects" in rules:
        merges.merge_agreed(_redirected(readings, redirects), labels.titles, "redirects")
    if "acronyms" in rules:
        defined = (
            (Name.of(short), Name.of(long), row.document)
            for row in readings
            for short, long in acronyms(row.text)
        )
        pairs = list(_to_titles(defined, labels.titles))
        for alias, name, document in pairs:
            merges.merge(alias, name, "acronyms", document, everywhere=False)
        merges.merge_agreed(pairs, labels.titles, "acronyms")
    by_document: dict[str, list[ChunkNames]] = {}
    for reading in readings:
        by_document.setdefault(reading.document, []).append(reading)
    for document, of_document in by_document.items():
        inside = _Document(document, of_document, labels, merges)
        if "initials" in rules:
            inside.merge_persons("initials", _way_of_initials, _abbreviates)
        if "surnames" in rules:
            inside.merge_persons("surnames", _way_of_ends, _ends)
        if "plurals" in rules:
            for alias, name in _plurals(inside.names, labels, several_words=False):
                merges.merge(alias, name, "plurals", document, everywhere=False)
    if "plurals" in rules:
        several = _plurals(labels.names, labels, several_words=True)
        merges.merge_agreed(((*pair, "") for pair in several), labels.titles, "plurals")
    return merges


def _to_titles(pairs: Pairs, titles: Collection[str]) -> Pairs:
    for alias, name, document in pairs:
        if alias.key in titles:
            alias, name = name, alias
        two = len(alias.key) > 1 and len(name.key) > 1 and alias.key != name.key
        if two and alias.key not in titles:
            yield alias, name, document


def _redirected(readings: Iterable[ChunkNames], redirects: Mapping[str, Sequence[str]]) -> Pairs:
    titles = {row.document: row.title for row in readings if row.title is not None}
    for document, title in titles.items():
        yield from ((Name.of(alias), title, document) for alias in redirects.get(document, ()))


class _Labels:
    def __init__(self, readings: Iterable[ChunkNames]) -> None:
        self.names: dict[str, Name] = {}
        self.titles: dict[str, None] = {}
        self._counts: dict[str, Counter[str]] = {}
        self.n: Counter[str] = Counter()
        for row in readings:
            if row.title is not None:
                self.titles[row.title.key] = None
            for name in row.every:
                self.names.setdefault(name.key, name)
                self.n[name.key] += 1
                if name.kind:
                    self._counts.setdefault(name.key, Counter())[name.kind] += 1

    def of(self, key: str) -> str:
        counts = self._counts.get(key)
        return max(counts, key=counts.__getitem__) if counts else ""


class _Document:
    """The names of one document, those of several words by what may be short for them.

    So that a document with thousands of names that end alike is not compared name by name.
    """

    def __init__(
        self, document: str, readings: Iterable[ChunkNames], labels: _Labels, resolved: Resolution
    ) -> None:
        self.document, self.labels, self.resolved = document, labels, resolved
        self.names: dict[str, Name] = {}
        self.kinds: dict[str, set[str]] = {}
        for name in (name for row in readings for name in row.every):
            self.names.setdefault(name.key, name)
            self.kinds.setdefault(name.key, set()).add(name.kind)
        self.longer: dict[Way, list[Name]] = {}
        for name in self.names.values():
            words = _words(name.key)
            for way in dict.fromkeys(_ways_to(words)) if len(words) > 1 else ():
                self.longer.setdefault(way, []).append(name)

    def merge_persons(self, rule: str, way: Callable[[list[str]], Way], fits: Fits) -> None:
        """Merge what fits exactly one longer name of the document, where that is a person's.

        `way` is what leads from a short name to the longer ones that it may fit. Longer ones go
        first, so that what they stand for is known.
        """
        for short in sorted(self.names.values(), key=lambda name: (-len(name.key), name.key)):
            kinds = self.kinds[short.key] | {self.labels.of(short.key)}
            if short.key in self.labels.titles or kinds & _NO_SURNAMES:
                continue
            words = _words(short.key)
            longer: dict[str, Name] = {}
            for name in self.longer.get(way(words), ()):
                if len(name.key) > len(short.key) and fits(words, _words(name.key)):
                    longer.setdefault(self.resolved.name(name.key, self.document), name)
                if len(longer) > 1:
                    break
            if len(longer) == 1:
                key, name = next(iter(longer.items()))
                if self.labels.of(key) == _PERSON or self.labels.of(name.key) == _PERSON:
                    self.resolved.merge(short, name, rule, self.document, everywhere=False)


def _words(key: str) -> list[str]:
    words = key.split()
    while len(words) > 1 and words[-1] in _GENERATIONS:
        words.pop()
    return words


def _ways_to(longer: list[str]) -> Iterator[Way]:
    for start in range(1, len(longer)):
        yield _way_of_ends(longer[start:])
    for first in (longer[0], longer[0][0]):
        yield _way_of_initials([first, longer[-1]])


def _way_of_ends(short: list[str]) -> Way:
    return "ends", *short


def _way_of_initials(short: list[str]) -> Way:
    return "initials", short[-1], short[0]


def _ends(short: list[str], longer: list[str]) -> bool:
    return len(short) < len(longer) and longer[-len(short) :] == short


def _abbreviates(short: list[str], longer: list[str]) -> bool:
    if len(short) < 2 or short[-1] != longer[-1] or short[-1] in _GENERATIONS:
        return False
    if _ends(short, longer) or not (len(short) < len(longer) or len(short[0]) == 1):
        return False
    rest = iter(longer[:-1])
    return _is(short[0], longer[0]) and all(
        any(_is(word, other) for other in rest) for word in short[:-1]
    )


def _is(word: str, other: str) -> bool:
    return word == other or (len(word) == 1 and other.startswith(word))


def _plurals(
    names: Mapping[str, Name], labels: _Labels, *, several_words: bool
) -> Iterator[tuple[Name, Name]]:
    for key, name in names.items():
        kind = labels.of(key)
        if (" " in key) != several_words or key in labels.titles or kind in ("", _PERSON):
            continue
        for ending, single in _PLURALS:
            singular = names.get(f"{key.removesuffix(ending)}{single}")
            if key.endswith(ending) and singular and labels.of(singular.key) in ("", kind):
                if labels.n[singular.key] >= labels.n[key]:
                    yield name, singular
                break
