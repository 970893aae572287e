"""An embedder whose vectors are stored by content: a text is embedded once, for all runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrag_bench.models.cached import Mode
from graphrag_bench.models.embedder import AroundAnother, Embedder, Kind, Vectors
from graphrag_bench.models.reply_store import ReplyStore, StoredVector, vector_key


class KeptVectors(AroundAnother):
    """The embedder inside, given only the texts whose vectors the store does not hold.

    A vector is found by the embedder's identity, its kind and its text, so that artifacts and data
    sets share it. What `encode` returned is stored. `mode` is that of the cache: `read` stores
    nothing, `refresh` embeds everything and replaces what is stored.
    """

    def __init__(self, inner: Embedder, store: ReplyStore, mode: Mode = "write") -> None:
        self.inner = inner
        self.store = store
        self.mode: Mode = mode

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts; equal texts once."""
        if not texts:
            return self.inner.encode(texts, kind=kind)
        identity = self.identity
        keys = {text: vector_key(identity, kind, text) for text in texts}
        held = {} if self.mode == "refresh" else self.store.vectors(list(keys.values()))
        numbers = {key: row.numbers for key, row in held.items()}
        if missing := [text for text, key in keys.items() if key not in numbers]:
            made = self.inner.encode(missing, kind=kind)
            rows = [
                StoredVector(keys[text], identity, row.tobytes())
                for text, row in zip(missing, made, strict=True)
            ]
            if self.mode != "read":
                rows = self.store.put_vectors(rows, replace=self.mode == "refresh")
            numbers |= {row.key: row.numbers for row in rows}
        return rows_of([numbers[keys[text]] for text in texts])


def rows_of(numbers: Sequence[bytes]) -> Vectors:
    """Float32 (n, dimension) rows of stored numbers."""
    return np.frombuffer(b"".join(numbers), np.float32).reshape(len(numbers), -1).copy()
