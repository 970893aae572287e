"""Dictionary that finds node names and aliases in texts."""

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from graphrag_bench.columns import Columns, TextRows
from graphrag_bench.text import normalise_name

_WORDS = (
    "a about after all also am an and any are as at be been before both but by can could did do "
    "does during each for from had has have her here his how i if in into is it its may more most "
    "no nor not of off on one only or other our out over she should so some such than that the "
    "their them then there these they this those through to under until up was we were what when "
    "where which while who whom whose why will with would you your"
)
_FUNCTION_WORDS = frozenset(_WORDS.split())

_ARTICLES = ("the", "a", "an")
_LEADING = re.compile(rf"^\s*(?:{'|'.join(_ARTICLES)})\s+", re.I)
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_POSSESSIVE = re.compile(r"['\u2019]s?\s*$", re.I)
_LETTERS = str.maketrans({"\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u0131": "i"})
_ABOVE_AND_BELOW = 200
"""Unicode combining classes from 200 on are accents. Vowel and voicing signs have lower classes."""


def bare_name(name: str) -> str:
    """Return a name without bracketed text, leading article and possessive ending.

    >>> bare_name("The Kraus House (novel)"), bare_name("(1985)")
    ('Kraus House', '(1985)')
    """
    for ending in (_BRACKETS, _LEADING, _POSSESSIVE):
        shorter, n_cut = ending.subn(" ", name)
        name = shorter if n_cut and normalise_name(shorter) else name
    return " ".join(name.split())


@lru_cache(100_000)  # building a graph computes the key of a name several times
def key_of(name: str) -> str:
    """Return the lookup key of a name: the normalised name without accents and possessive `s`.

    >>> key_of("Schindler's List"), key_of("Tekezé River"), key_of("U.S.")
    ('schindler list', 'tekeze river', 'u s')
    """
    normal = normalise_name(name)
    if not normal.isascii():
        parts = unicodedata.normalize("NFKD", normal)
        letters = (char for char in parts if unicodedata.combining(char) < _ABOVE_AND_BELOW)
        normal = unicodedata.normalize("NFC", "".join(letters)).translate(_LETTERS)
    pairs = pairwise(["", *normal.split()])
    return " ".join(word for before, word in pairs if word != "s" or len(before) < 2)


def title_key(title: str) -> str:
    """Return the lookup key of a title without brackets. Function words and short words give ""."""
    key = key_of(_BRACKETS.sub(" ", title)) or key_of(title)
    return key if _is_name(key) else ""


@dataclass(frozen=True, eq=False)
class NameDictionary(Columns):
    """Dictionary that looks up names and finds names in texts. `row_of` maps keys to rows.

    `longest` maps the first word of a key to the word count of the longest such key.
    """

    row_of: TextRows
    longest: TextRows

    @classmethod
    def of(
        cls, names: Iterable[str], aliases: Mapping[str, int] = MappingProxyType({})
    ) -> "NameDictionary":
        """Return a dictionary of names and aliases. A name of several rows finds the first row.

        A name with a leading article is also found without the article. If this short name is the
        name of another row, both names find the other row, unless the short name is a function word
        (`the who`) or too short for `matches`.
        """
        row_of: dict[str, int] = {}
        further: dict[str, int] = {}
        for row, name in enumerate(names):
            key = key_of(name)
            row_of.setdefault(key, row)
            further.setdefault(_without_article(key), row)
        bare = {key: _without_article(key) for key in row_of}
        same = {key: name for key, name in bare.items() if name in row_of and _is_name(name)}
        row_of |= {key: row_of[name] for key, name in same.items()}
        for alias, row in aliases.items():
            further.setdefault(key_of(alias), row)
        row_of = {**further, **row_of}
        longest: dict[str, int] = {}
        for words in (key.split() for key in row_of if _is_name(key)):
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return cls(TextRows.of(row_of), TextRows.of(longest))

    def row(self, name: str) -> int | None:
        """Return the row of a name, or None. A leading article in the name is optional."""
        key = key_of(name)
        return self.row_of.get(key, self.row_of.get(_without_article(key)))

    def matches(self, text: str, single: Container[str] | None = None) -> list[tuple[str, int]]:
        """Return the pairs (key, row) found in a text, in text order, without overlaps.

        Of keys that begin at the same word, the longest is chosen. If `single` is given, a key of
        one word counts only if it is in `single`.

        >>> NameDictionary.of(["New York", "York"]).matches("Is New York near York?")
        [('new york', 0), ('york', 1)]
        """
        words, keys, start = key_of(text).split(), list[tuple[str, int]](), 0
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
    """Return whether `matches` searches for a key. It skips function words and short keys."""
    return len(key.replace(" ", "")) >= 3 and key not in _FUNCTION_WORDS


FILE = "merges.jsonl"


@dataclass(frozen=True)
class Merge:
    """Normalised alias and name of a node. The `rule` found the alias in the `document`."""

    alias: str
    name: str
    rule: str
    document: str


def save_merges(folder: Path, merges: Iterable[Merge]) -> None:
    """Write a JSON line for each alias of a node."""
    lines = (json.dumps(asdict(merge), ensure_ascii=False) + "\n" for merge in merges)
    (folder / FILE).write_text("".join(lines), encoding="utf-8")


def load_merges(folder: Path) -> tuple[Merge, ...]:
    """Return the aliases in a folder. Older versions wrote no file if there were no aliases."""
    text = (folder / FILE).read_text(encoding="utf-8") if (folder / FILE).is_file() else ""
    # a name may have other line breaks
    return tuple(Merge(**json.loads(line)) for line in text.split("\n") if line)


def unambiguous_aliases(merges: Iterable[Merge], names: Iterable[str]) -> dict[str, int]:
    """Map each alias of exactly one node to the node's row. Aliases that are names are left out."""
    row_of: dict[str, int] = {}
    for row, name in enumerate(names):
        row_of.setdefault(key_of(name), row)
    nodes_of: dict[str, set[int | None]] = {}
    for merge in merges:
        nodes_of.setdefault(key_of(merge.alias), set()).add(row_of.get(key_of(merge.name)))
    single = {alias: nodes.pop() for alias, nodes in nodes_of.items() if len(nodes) == 1}
    return {a: row for a, row in single.items() if a not in row_of and row is not None}
