"""Sentences of texts, their vectors, and the central ones: summaries without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.progress import Progress
from graphrag_bench.text import count_tokens, decode, encode
from graphrag_bench.values import Ranked

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？])|\n\s*\n")
_FEW_WORDS = 4
_SAME = 0.9


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, on one line each: cut after . ! ? and a space, and at blank lines."""
    parts = (" ".join(part.split()) for part in _END.split(text))
    return [part for part in parts if part]


def vectors_of(
    texts: Sequence[str], embedder: Embedder, scratch: Path, progress: Progress, label: str
) -> Vectors:
    """The vectors of some texts, float32 (n, dimension), committed block by block.

    The blocks stand in a folder named after the texts, so that a crash never mixes two lists.
    """
    folder = scratch / digest(sorted(set(texts)))
    folder.mkdir(parents=True, exist_ok=True)
    with progress.task(label, len(set(texts))) as advance:
        return encode_in_blocks(texts, embedder, folder, advance)


@dataclass(frozen=True, eq=False)
class Sentences:
    """Distinct sentences in order of first appearance, with their unit vectors and tokens."""

    texts: tuple[str, ...]
    vectors: Vectors
    n_tokens: tuple[int, ...]

    @classmethod
    def of(
        cls, texts: Iterable[str], embedder: Embedder, scratch: Path, progress: Progress
    ) -> Sentences:
        """The distinct ones of these sentences, embedded."""
        distinct = tuple(dict.fromkeys(texts))
        vectors = vectors_of(distinct, embedder, scratch, progress, "embedding sentences")
        return cls(distinct, vectors, tuple(count_tokens(text) for text in distinct))

    def central(self, rows: Sequence[int], max_tokens: int) -> list[int]:
        """The most central of some sentences, at most `max_tokens` together, in the order given.

        Centrality is the mean cosine to all of them, -1..1, ties to the one given first. Sentences
        under four words are passed over while there are others, and so is one with a cosine of 0.9
        or more to a chosen one. At least one comes out, however long, unless there is none.
        Source: LexRank's degree centrality without a threshold (Erkan and Radev 2004, section 3).
        """
        given = list(dict.fromkeys(rows))
        long = [row for row in given if len(self.texts[row].split()) >= _FEW_WORDS]
        pool = long or given
        vectors = np.asarray(self.vectors[pool], np.float64)
        chosen: list[int] = []
        room = max_tokens
        for place in Ranked.top(vectors @ vectors.mean(axis=0), None).ids if pool else ():
            cost = self.n_tokens[pool[place]]
            same = len(chosen) and np.max(vectors[chosen] @ vectors[place]) >= _SAME
            if not same and (cost <= room or not chosen):
                chosen.append(int(place))
                room -= cost
        return [pool[place] for place in sorted(chosen)]

    def joined(self, rows: Sequence[int], max_tokens: int) -> str:
        """Some sentences as one text, cut at `max_tokens`."""
        text = " ".join(self.texts[row] for row in rows)
        return (
            text if sum(self.n_tokens[row] for row in rows) <= max_tokens else cut(text, max_tokens)
        )


def cut(text: str, max_tokens: int) -> str:
    """The first `max_tokens` tokens of a text."""
    return decode(encode(text)[:max_tokens]).strip()
