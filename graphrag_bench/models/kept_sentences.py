"""A tagger whose reading of a text is stored by content: a text is read once, for all runs."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from graphrag_bench.models.cached import Mode
from graphrag_bench.models.in_workers import NlpInWorkers
from graphrag_bench.models.marked_file import MarkedFile, always, never
from graphrag_bench.models.marked_rows import MarkedRows, create
from graphrag_bench.models.nlp import Nlp, Relation, Sentence
from graphrag_bench.models.sqlite_file import Journal

VERSION = 1
_AT_ONCE = 128
_KEY_DIGITS = 32
_What = Literal["sentences", "entities"]


@dataclass(frozen=True)
class StoredReading:
    """What a tagger found in one text, as compressed JSON."""

    key: str
    identity: str
    found: bytes


COLUMNS = tuple(field.name for field in fields(StoredReading))


def _create(connection: sqlite3.Connection) -> None:
    create(connection, StoredReading, "readings")


class ReadingStore(MarkedFile):
    """Readings of texts by key."""

    def __init__(
        self, path: str | Path, journal: Journal = "auto", *, reading: bool = False
    ) -> None:
        own = ("readings", COLUMNS)
        super().__init__(path, _create, VERSION, journal, own=own, reading=reading)
        self._readings = MarkedRows(self.path, StoredReading, "readings")

    def some(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What was found, by key; keys without a row that is whole are missing."""
        return {row.key: row.found for row in self._readings.some(self._read, keys)}

    def put(self, rows: Sequence[StoredReading], *, replace: bool = False) -> None:
        """Store rows; one that is there already stays, or is replaced."""
        self._put_all(self._readings, rows, always if replace else never)


class KeptSentences:
    """The tagger inside, given only the texts whose reading the store does not hold.

    A reading is found by the tagger's identity and the text, so that graphs, data sets and
    questions share it. `mode` is that of the cache: `read` stores nothing, `refresh` reads
    everything again and replaces what is stored.
    """

    def __init__(self, inner: Nlp, store: ReadingStore, mode: Mode = "write") -> None:
        self.inner = inner
        self.store = store
        self.mode: Mode = mode

    @cached_property
    def identity(self) -> str:
        """That of the tagger inside."""
        return self.inner.identity

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """The sentences of each text, in order; new ones are stored as they come, in blocks."""
        left = iter(texts)
        n_texts = self._at_once if len(texts) > _AT_ONCE else _AT_ONCE
        while block := list(islice(left, n_texts)):
            keys = {text: self._key("sentences", text) for text in block}
            held = self._held(list(keys.values()))
            missing = [text for text, key in keys.items() if key not in held]
            read = zip(missing, self.inner.sentences(missing) if missing else (), strict=True)
            made: dict[str, list[Sentence]] = {}
            new: dict[str, list[Sentence]] = {}
            for text in block:
                while text not in made and keys[text] not in held:
                    first, sentences = next(read)
                    made[first] = sentences
                    new[keys[first]] = list(sentences)
                yield made[text] if text in made else _read(held[keys[text]])
                if len(new) >= _AT_ONCE:
                    self._keep(new)
                    new = {}
            self._keep(new)

    @property
    def _at_once(self) -> int:
        inner = self.inner
        return inner.at_once if isinstance(inner, NlpInWorkers) else _AT_ONCE

    def entities(self, text: str) -> list[str]:
        """The named entities of a text, as written, in order."""
        key = self._key("entities", text)
        if (found := self._held([key]).get(key)) is not None:
            return [str(name) for name in json.loads(zlib.decompress(found))]
        names = self.inner.entities(text)
        self._keep({key: names})
        return names

    def _key(self, what: _What, text: str) -> str:
        written = json.dumps([VERSION, what, self.identity, text]).encode()
        return hashlib.sha256(written).hexdigest()[:_KEY_DIGITS]

    def _held(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {} if self.mode == "refresh" else self.store.some(keys)

    def _keep(self, found: dict[str, list[str]] | dict[str, list[Sentence]]) -> None:
        if found and self.mode != "read":
            rows = [
                StoredReading(key, self.identity, zlib.compress(_written(value), 1))
                for key, value in found.items()
            ]
            self.store.put(rows, replace=self.mode == "refresh")


def _written(value: object) -> bytes:
    return json.dumps(value, default=sorted).encode()


def _read(found: bytes) -> list[Sentence]:
    return [
        Sentence(
            text,
            tuple((name, label) for name, label in entities),
            tuple(phrases),
            tuple(map(Relation._make, relations)),
            frozenset(pronouns),
            tuple(lemmas),
        )
        for text, entities, phrases, relations, pronouns, lemmas in json.loads(
            zlib.decompress(found)
        )
    ]
