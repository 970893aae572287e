"""The protocol of embedders, an embedder for tests, and the encoding of texts in blocks."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.long_texts import TextLengths
from graphrag_bench.embedding.long_texts import Vectors as Vectors
from graphrag_bench.progress import Advance, no_advance
from graphrag_bench.text import words

TextKind = Literal["question", "passage"]
FIRST_BLOCK = 50_000
"""Number of characters in the first block of texts that is encoded."""
_LARGEST_BLOCK = 1_000_000
_QUICK_SECONDS = 5.0


class Embedder(Protocol):
    """Model that encodes texts as vectors of length 1."""

    @property
    def identity(self) -> str:
        """Identifier that covers everything that affects a vector, e.g. model and prefixes."""

    @property
    def dimension(self) -> int:
        """Number of components of each vector."""

    def text_lengths(self, texts: Sequence[str]) -> TextLengths:
        """Count the passages that are longer than the window. The model is not loaded."""
        return TextLengths(None, None, len(texts))

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text. The vector must not depend on the other texts."""


@dataclass(eq=False)
class EmbedderWrapper:
    """Base class of embedders that wrap another embedder (`inner`)."""

    inner: Embedder

    @property
    def identity(self) -> str:
        """Identity of the wrapped embedder."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Vector dimension of the wrapped embedder."""
        return self.inner.dimension

    def text_lengths(self, texts: Sequence[str]) -> TextLengths:
        """Count the passages that are longer than the window of the wrapped embedder."""
        return self.inner.text_lengths(texts)


@dataclass(eq=False)
class Hashing(Embedder):
    """Embedder that hashes words and letter trigrams. It needs no model and is meant for tests."""

    dimension: PositiveInt = 256

    @property
    def identity(self) -> str:
        """The text `hashing:<dimension>`."""
        return f"hashing:{self.dimension}"

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text. Texts without letters or digits share a vector."""
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
    """Return the vectors of passages, float32 (n, dimension), encoded in blocks.

    A cached embedder can store each finished block. Equal passages are encoded once. The block size
    doubles, up to a limit, after every block that took less than 5 s.
    """
    row_of = {text: row for row, text in enumerate(sorted({*texts}, key=lambda t: (len(t), t)))}
    rows, distinct = np.array([row_of[text] for text in texts], np.int64), list(row_of)
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
    """Yield blocks of one text, or of up to `n_texts` texts with a total weight of up to `most`."""
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
