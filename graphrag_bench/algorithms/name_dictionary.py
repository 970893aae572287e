"""Names of nodes: found in a text word by word, whatever their accents, and merged with aliases."""

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from graphrag_bench.text import normalise_name

SHORTEST = 3
"""Names with fewer letters and digits than this are not looked for in a text."""

_WORDS = (
    "a about after all also am an and any are as at be been before both but by can could did do "
    "does during each for from had has have her here his how i if in into is it its may more most "
    "no nor not of off on one only or other our out over she should so some such than that the "
    "their them then there these they this those through to under until up was we were what when "
    "where which while who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_WORDS.split())
"""A name that is one of these words is not looked for in a text."""

_ARTICLES = ("the", "a", "an")
_LEADING = re.compile(rf"^\s*(?:{'|'.join(_ARTICLES)})\s+", re.I)
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_POSSESSIVE = re.compile(r"['\u2019]s?\s*$", re.I)
_LETTERS = str.maketrans({"\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u0131": "i"})
_CACHE_SIZE = 100_000
"""Names whose key is kept: a graph reads each name several times, and a growing one each build."""
_ABOVE_AND_BELOW = 200
"""Combining classes from here on are accents; vowel signs and voicing marks are below it."""


def bare(name: str) -> str:
    """The name without brackets, a leading article and a possessive ending; never nothing.

    What would leave nothing of the name stays: `(1985)` keeps its brackets.
    """
    for ending in (_BRACKETS, _LEADING, _POSSESSIVE):
        shorter, n_cut = ending.subn(" ", name)
        name = shorter if n_cut and normalise_name(shorter) else name
    return " ".join(name.split())


@lru_cache(_CACHE_SIZE)
def key_of(name: str) -> str:
    """The words by which a name is looked up: normalised, without accents and possessive `s`.

    Letters that are no accented ones (l with a stroke, o with a stroke) are folded as well. An `s`
    after a single letter stays, so that `U.S.` is not `U`.
    """
    normal = normalise_name(name)
    words = (normal if normal.isascii() else _unaccented(normal)).split()
    if "s" not in words:
        return " ".join(words)
    return " ".join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if word != "s" or len(before) < 2
    )


def title_key(title: str) -> str:
    """The key of a title without what is in brackets; "" for one that is not looked for in a text.

    What would leave nothing of the title stays: `(1985)` keeps its brackets.
    """
    key = key_of(_BRACKETS.sub(" ", title)) or key_of(title)
    return key if _is_name(key) else ""


def _unaccented(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    letters = (char for char in parts if unicodedata.combining(char) < _ABOVE_AND_BELOW)
    return unicodedata.normalize("NFC", "".join(letters)).translate(_LETTERS)


@dataclass(frozen=True)
class NameDictionary:
    """Rows by the key of their name, and how many words the longest key with a first word has."""

    row_of: Mapping[str, int]
    longest: Mapping[str, int]

    @classmethod
    def of(
        cls, names: Iterable[str], aliases: Mapping[str, int] = MappingProxyType({})
    ) -> "NameDictionary":
        """The dictionary of names in row order, then of aliases; of equal keys the first counts.

        A name that begins with an article is found without it too; where that is another's name,
        both are that other: `the who` stays, as `who` is a function word.
        Keys of less than three letters and digits and single function words are found by `row`
        alone, not in a text.
        """
        row_of: dict[str, int] = {}
        further: dict[str, int] = {}
        for row, name in enumerate(names):
            key = key_of(name)
            row_of.setdefault(key, row)
            further.setdefault(_without_article(key), row)
        without = {key: _without_article(key) for key in row_of}
        same = {key: row_of[bare] for key, bare in without.items() if bare in row_of}
        row_of |= {key: row for key, row in same.items() if _is_name(without[key])}
        for alias, row in aliases.items():
            further.setdefault(key_of(alias), row)
        row_of = {**further, **row_of}
        longest: dict[str, int] = {}
        for words in (key.split() for key in row_of if _is_name(key)):
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return cls(row_of, longest)

    def row(self, name: str) -> int | None:
        """The row of a name, with or without its leading article; None where none has it."""
        key = key_of(name)
        return self.row_of.get(key, self.row_of.get(_without_article(key)))

    def matches(self, text: str, single: Container[str] | None = None) -> list[tuple[str, int]]:
        """The keys that stand in a text, in its order, with their rows.

        At every word the longest key that begins there is taken, and reading goes on behind it, so
        that matches never overlap. Whole words only. Keys of one word count only where `single`
        has them; None: all do. Takes time in the words of the text, not in the number of names.
        """
        words = key_of(text).split()
        keys = []
        start = 0
        while start < len(words):
            n_words = min(self.longest.get(words[start], 0), len(words) - start)
            key = " ".join(words[start : start + n_words])
            while n_words and not (key in self.row_of and _is_name(key)):
                n_words -= 1
                key = " ".join(words[start : start + n_words])
            if n_words > 1 or (n_words and (single is None or key in single)):
                keys.append((key, self.row_of[key]))
            start += max(n_words, 1)
        return keys


def _without_article(key: str) -> str:
    first, _, rest = key.partition(" ")
    return rest if first in _ARTICLES and rest else key


def _is_name(key: str) -> bool:
    return len(key.replace(" ", "")) >= SHORTEST and key not in FUNCTION_WORDS


FILE = "merges.jsonl"


@dataclass(frozen=True)
class Merge:
    """`alias` was taken for `name`, both normalised, by what `document` says."""

    alias: str
    name: str
    rule: str
    document: str


def save_merges(folder: Path, merges: Iterable[Merge]) -> None:
    """Write a JSON line for each merge; no file where there is none."""
    lines = [json.dumps(asdict(merge), ensure_ascii=False) for merge in merges]
    if lines:
        (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def load_merges(folder: Path) -> tuple[Merge, ...]:
    """The merges that `save_merges` wrote, in its order."""
    path = folder / FILE
    if not path.is_file():
        return ()
    lines = path.read_text(encoding="utf-8").split("\n")  # a name may have other line breaks
    return tuple(Merge(**json.loads(line)) for line in lines if line)


def unambiguous(merges: Iterable[Merge], names: Iterable[str]) -> dict[str, int]:
    """The node of each alias that every merge takes for the same one, in order of first mention.

    `names` are those of the nodes. An alias that is a node's name as well, because another
    document has it for something else, has none.
    """
    row_of: dict[str, int] = {}
    for row, name in enumerate(names):
        row_of.setdefault(key_of(name), row)
    nodes_of: dict[str, list[int | None]] = {}
    for merge in merges:
        node, nodes = row_of.get(key_of(merge.name)), nodes_of.setdefault(key_of(merge.alias), [])
        if node not in nodes:
            nodes.append(node)
    return {
        alias: nodes[0]
        for alias, nodes in nodes_of.items()
        if alias not in row_of and len(nodes) == 1 and nodes[0] is not None
    }
