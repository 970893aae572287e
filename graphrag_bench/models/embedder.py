"""The embedder protocol, the hashing embedder of the tests, and encoding in committed blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from graphrag_bench.columns import load_array, save_array
from graphrag_bench.models.fit import Fit
from graphrag_bench.progress import Advance, no_advance

Vectors = NDArray[np.float32]
Kind = Literal["question", "passage"]
BLOCK = 256


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

    @property
    def window(self) -> int | None:
        """The tokens it reads of a text, special ones included; None: no bound, or not known."""
        ...

    @property
    def reading(self) -> str:
        """In words: how much of a text it reads, and what becomes of a longer one."""
        ...

    def fit(self, texts: Sequence[str], *, load: bool = True) -> Fit:
        """How many of these passages are longer than its window; embeds nothing.

        With `load` a model whose files do not tell is loaded; without, its window is None then.
        """
        ...

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts."""
        ...


class Hashing:
    """Deterministic vectors without weights: hashed words and letter trigrams. For tests."""

    def __init__(self, dimension: PositiveInt = 256) -> None:
        """Vectors of this length."""
        self.dimension = dimension

    @property
    def identity(self) -> str:
        """`hashing:<dimension>`."""
        return f"hashing:{self.dimension}"

    window = None
    reading = "texts of any length"

    def fit(self, texts: Sequence[str], *, load: bool = True) -> Fit:
        """Every text is read whole."""
        return Fit(None, "windows", len(texts))

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Unit rows; a text without letters or digits gives the first unit vector."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split():
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
    texts: Sequence[str],
    embedder: Embedder,
    scratch: Path,
    advance: Advance = no_advance,
) -> Vectors:
    """Float32 (n, dimension) vectors of passages, in the order given; equal texts once.

    The distinct texts are sorted and cut into fixed blocks, so that a vector never depends on what
    was already there; each block is committed to `scratch` when done, so that a crash loses one
    block. `advance` is told how many texts are done.
    """
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    row_of = {text: row for row, text in enumerate(distinct)}
    blocks = []
    for start in range(0, len(distinct), BLOCK):
        name = f"vectors-{start // BLOCK:06d}"
        part = distinct[start : start + BLOCK]
        if not (scratch / f"{name}.npy").is_file():
            vectors = embedder.encode(part, kind="passage")
            save_array(scratch, f"{name}.new", vectors)
            (scratch / f"{name}.new.npy").rename(scratch / f"{name}.npy")
        blocks.append(load_array(scratch, name))
        advance(len(part))
    if not blocks:
        return np.zeros((0, embedder.dimension), np.float32)
    stacked = np.concatenate(blocks)
    return np.asarray(stacked[[row_of[text] for text in texts]], np.float32)
