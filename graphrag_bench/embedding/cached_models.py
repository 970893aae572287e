"""Embedder and tagger with a cache, so that each text is embedded or tagged only once."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import TypeAdapter

from graphrag_bench.embedding.embedder import EmbedderWrapper, TextKind, Vectors
from graphrag_bench.embedding.nlp import Nlp, Sentence, Spacy
from graphrag_bench.embedding.workers import ParallelTagger
from graphrag_bench.fingerprint import identity_of
from graphrag_bench.llm.cache import Cache, StoredTagging, StoredVector, row_key

_BATCH_SIZE, _ON_GPU = 128, 2048
_READING_VERSION = 1
_SENTENCES, _NAMES = TypeAdapter(list[Sentence]), TypeAdapter(list[str])


@dataclass(eq=False)
class CachedEmbedder(EmbedderWrapper):
    """Embedder with a cache. A cache key consists of the embedder's identity, a kind and a text."""

    cache: Cache

    @cached_property
    def _signed(self) -> str:
        return identity_of(self.inner)

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text as a float32 array (n, dimension)."""
        if not texts:
            return self.inner.encode(texts, kind=kind)
        identity = self._signed
        keys = {text: row_key(identity, kind, text) for text in texts}
        stored = self.cache.get_many(StoredVector, keys.values())
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
    """Return the vectors in some rows of the cache as one float32 array (n, dimension)."""
    numbers = b"".join(row.numbers for row in rows)
    return np.frombuffer(numbers, np.float32).reshape(len(rows), -1).copy()


@dataclass(eq=False)
class CachedTagger:
    """Tagger with a cache. The cache key consists of the identity of the tagger and the text."""

    inner: Nlp
    cache: Cache

    @property
    def identity(self) -> str:
        """Identity of the tagger whose results are cached."""
        return self.inner.identity

    @cached_property
    def _signed(self) -> str:
        return identity_of(self.inner)

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """Yield the sentences of each text. Texts are tagged and cached in batches."""
        size = _ON_GPU if isinstance(self.inner, Spacy) and self.inner.on_gpu else _BATCH_SIZE
        if isinstance(self.inner, ParallelTagger):
            size = self.inner.batch_size
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            stored = self._read("sentences", batch, self.inner.sentences)
            yield from map(_SENTENCES.validate_json, stored)

    def entities(self, text: str) -> list[str]:
        """Return the named entities of a text, in order and as they are spelled in the text."""
        (names,) = self._read("entities", [text], lambda texts: map(self.inner.entities, texts))
        return _NAMES.validate_json(names)

    def _read(
        self, task: str, texts: Sequence[str], read: Callable[[list[str]], Iterable[object]]
    ) -> list[bytes]:
        keys = {text: row_key(_READING_VERSION, task, self._signed, text) for text in texts}
        stored = self.cache.get_many(StoredTagging, keys.values())
        if missing := [text for text, key in keys.items() if key not in stored]:
            written = (json.dumps(result, default=sorted).encode() for result in read(missing))
            rows = [
                StoredTagging(keys[text], self._signed, zlib.compress(result, 1))
                for text, result in zip(missing, written, strict=True)
            ]
            self.cache.put(*rows)
            stored |= {row.key: row for row in rows}
        return [zlib.decompress(stored[keys[text]].found) for text in texts]
