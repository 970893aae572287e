"""An embedder and a tagger whose work is stored by content: a text is embedded and read once."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from graphrag_bench.embedding.embedder import AroundAnother, Embedder, TextKind, Vectors
from graphrag_bench.embedding.nlp import Nlp, Relation, Sentence
from graphrag_bench.embedding.workers import ParallelTagger
from graphrag_bench.fingerprint import signed
from graphrag_bench.llm.cache import Cache, StoredReading, StoredVector, row_key, vector_key

_AT_ONCE = 128
_READING_VERSION = 1
_What = Literal["sentences", "entities"]


class CachedEmbedder(AroundAnother):
    """The embedder inside, given only the texts whose vectors the cache does not hold.

    A vector is found by the embedder's identity, with the code of one of your own, its kind and its
    text, so that artifacts and data sets share it. What `encode` returned is stored.
    """

    def __init__(self, inner: Embedder, cache: Cache) -> None:
        self.inner = inner
        self.cache = cache

    @cached_property
    def _signed(self) -> str:
        return signed(self.inner)

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return float32 (n, dimension), unit rows in the order of the texts; equal texts once."""
        if not texts:
            return self.inner.encode(texts, kind=kind)
        identity = self._signed
        keys = {text: vector_key(identity, kind, text) for text in texts}
        stored = self.cache.get_many(StoredVector, [*keys.values()])
        if missing := [text for text, key in keys.items() if key not in stored]:
            vectors = self.inner.encode(missing, kind=kind)
            rows = [
                StoredVector(keys[text], identity, vector.tobytes())
                for text, vector in zip(missing, vectors, strict=True)
            ]
            self.cache.put(*rows)
            stored |= {row.key: row for row in rows}
        return vectors_of([stored[keys[text]] for text in texts])


def vectors_of(rows: Sequence[StoredVector]) -> Vectors:
    """Return stored vectors as float32 (n, dimension)."""
    numbers = b"".join(row.numbers for row in rows)
    return np.frombuffer(numbers, np.float32).reshape(len(rows), -1).copy()


class CachedTagger:
    """The tagger inside, given only the texts whose reading the cache does not hold.

    A reading is found by the tagger's identity and the text, so that graphs, data sets and
    questions share it.
    """

    def __init__(self, inner: Nlp, cache: Cache) -> None:
        self.inner = inner
        self.cache = cache

    @property
    def identity(self) -> str:
        """That of the tagger inside."""
        return self.inner.identity

    @cached_property
    def _signed(self) -> str:
        return signed(self.inner)

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """Yield the sentences of each text, in order; new ones are stored block by block."""
        size = self.inner.at_once if isinstance(self.inner, ParallelTagger) else _AT_ONCE
        for start in range(0, len(texts), size):
            block = texts[start : start + size]
            keys = {text: self._key("sentences", text) for text in block}
            stored = self._stored([*keys.values()])
            read = {text: _sentences(stored[key]) for text, key in keys.items() if key in stored}
            missing = [text for text in keys if text not in read]
            new = dict(zip(missing, self.inner.sentences(missing) if missing else (), strict=True))
            self._store({keys[text]: sentences for text, sentences in new.items()})
            read |= new
            yield from (list(read[text]) for text in block)

    def entities(self, text: str) -> list[str]:
        """Return the named entities of a text, as written, in order."""
        key = self._key("entities", text)
        if (stored := self._stored([key]).get(key)) is not None:
            return [str(name) for name in json.loads(zlib.decompress(stored))]
        names = self.inner.entities(text)
        self._store({key: names})
        return names

    def _key(self, what: _What, text: str) -> str:
        return row_key(_READING_VERSION, what, self._signed, text)

    def _stored(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {key: row.found for key, row in self.cache.get_many(StoredReading, keys).items()}

    def _store(self, readings: Mapping[str, Sequence[object]]) -> None:
        if readings:
            rows = [
                StoredReading(
                    key, self._signed, zlib.compress(json.dumps(one, default=sorted).encode(), 1)
                )
                for key, one in readings.items()
            ]
            self.cache.put(*rows)


def _sentences(stored: bytes) -> list[Sentence]:
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
            zlib.decompress(stored)
        )
    ]
