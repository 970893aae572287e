"""The embedder protocol, the hashing embedder of the tests, and encoding in committed blocks."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.long_texts import Fit
from graphrag_bench.embedding.long_texts import Vectors as Vectors
from graphrag_bench.progress import Advance, no_advance
from graphrag_bench.text import words

TextKind = Literal["question", "passage"]
FIRST_BLOCK = 50_000
"""Characters of the texts that are embedded first."""
_LARGEST_BLOCK = 1_000_000
_QUICK_SECONDS = 5.0


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def identity(self) -> str:
        """Name, revision, dimension, normalisation and prefixes: whatever can change a vector."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def fit(self, texts: Sequence[str]) -> Fit:
        """Return how many passages are longer than the window, without loading the model."""
        return Fit(None, None, len(texts))

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts.

        A row depends on its text and kind alone: it is stored for other lists of texts.
        """
        ...


class AroundAnother:
    """An embedder around another one, `inner`: all but how it embeds is told by that one."""

    inner: Embedder

    @property
    def identity(self) -> str:
        """That of the embedder inside."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """That of the embedder inside."""
        return self.inner.dimension

    def fit(self, texts: Sequence[str]) -> Fit:
        """That of the embedder inside."""
        return self.inner.fit(texts)


@dataclass(eq=False)
class Hashing(Embedder):
    """Deterministic vectors without weights: hashed words and letter trigrams. For tests."""

    dimension: PositiveInt = 256

    @property
    def identity(self) -> str:
        """`hashing:<dimension>`."""
        return f"hashing:{self.dimension}"

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Unit rows; a text without letters or digits gives the first unit vector."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text):
                padded = f"^{word}$"
                grams = [padded[i : i + 3] for i in range(len(padded) - 2)]
                for feature, weight in [(word, 1.0), *((gram, 0.25) for gram in grams)]:
                    code = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
                    row[code % self.dimension] += weight
            if not row.any():
                row[0] = 1.0
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / norms, np.float32)


def encode_in_blocks(
    texts: Sequence[str], embedder: Embedder, advance: Advance = no_advance
) -> Vectors:
    """Float32 (n, dimension) vectors of passages, in the order given; equal texts once.

    The distinct texts are given to the embedder from the shortest to the longest, in blocks that
    grow while they are quick: an embedder that stores vectors has stored each block when it is
    done. `advance` is told how many texts are done.
    """
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    row_of = {text: row for row, text in enumerate(distinct)}
    rows = np.array([row_of[text] for text in texts], np.int64)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    vectors: Vectors | None = None
    size, done = FIRST_BLOCK, 0
    while done < len(distinct):
        block = next(blocks(map(distinct.__getitem__, range(done, len(distinct))), size))
        began = time.monotonic()
        new = embedder.encode(block, kind="passage")
        if time.monotonic() - began < _QUICK_SECONDS:
            size = min(2 * size, _LARGEST_BLOCK)
        if vectors is None:
            vectors = np.empty((len(texts), new.shape[1]), new.dtype)
        part = slice(*np.searchsorted(rows, [done, done + len(block)]))
        vectors[order[part]] = new[rows[part] - done]
        done += len(block)
        advance(len(block))
    return np.zeros((0, embedder.dimension), np.float32) if vectors is None else vectors


def blocks(
    texts: Iterable[str], most: int, weight: Callable[[str], int] = len, n_texts: float = inf
) -> Iterator[list[str]]:
    """Yield the texts in blocks of at most `n_texts` that together weigh `most` at most, or one."""
    block: list[str] = []
    total = 0
    for text in texts:
        own = weight(text)
        if block and (len(block) >= n_texts or total + own > most):
            yield block
            block, total = [], 0
        block.append(text)
        total += own
    if block:
        yield block
