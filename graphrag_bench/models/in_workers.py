"""Models whose work on many texts is done by the workers of an executor, a block each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from graphrag_bench.errors import UserError
from graphrag_bench.executors.executor import Executor
from graphrag_bench.models.embedder import FIRST_BLOCK, AroundAnother, Embedder, Kind, Vectors
from graphrag_bench.models.from_config import make
from graphrag_bench.models.nlp import Nlp, Sentence, Spacy, memory_zone

TEXTS_A_BLOCK = 32
"""Texts that a worker reads at a time."""
BLOCKS_AT_ONCE = 16
"""Blocks for each worker in one request: with fewer, workers idle longer at its end."""
LEAST_CHARACTERS = 20_000
"""Passages of fewer characters together are embedded in this process."""
_LEAST_A_BLOCK = 10_000


@dataclass(frozen=True)
class Recipe:
    """How a worker makes a model: by its settings, once in each process.

    `identity` is that of the model in this process; a worker whose own differs, by its packages,
    files or device, refuses with a UserError: its work would be another's.
    """

    group: str
    settings: str
    identity: str

    @classmethod
    def of(cls, group: str, settings: Mapping[str, Any], model: Any) -> Recipe:
        """Of a model that was made with these settings."""
        return cls(group, json.dumps(dict(settings), sort_keys=True), model.identity)


@lru_cache(maxsize=4)
def made(recipe: Recipe) -> Any:
    """The model of a recipe; raises UserError where it is another here."""
    model = make(recipe.group, json.loads(recipe.settings))
    if model.identity != recipe.identity:
        raise UserError(
            f"A worker has another {recipe.group}: '{model.identity}', and not "
            f"'{recipe.identity}'. Install the same packages and files on every machine, and name "
            "device and precision where they are `auto`."
        )
    return model


class NlpInWorkers:
    """A tagger that reads many texts in the workers of an executor, and few in this process."""

    def __init__(self, inner: Nlp, executor: Executor, recipe: Recipe, least: int) -> None:
        self.inner = inner
        self.executor = executor
        self._recipe = recipe
        self._least = least

    @property
    def identity(self) -> str:
        """That of the tagger inside."""
        return self.inner.identity

    @property
    def at_once(self) -> int:
        """How many texts keep all workers busy."""
        return TEXTS_A_BLOCK * BLOCKS_AT_ONCE * self.executor.n_workers

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """The sentences of each text, in order."""
        if len(texts) < self._least:
            yield from self.inner.sentences(texts)
            return
        self._least = min(self._least, TEXTS_A_BLOCK)
        starts = range(0, len(texts), TEXTS_A_BLOCK)
        blocks = (list(texts[start : start + TEXTS_A_BLOCK]) for start in starts)
        for found in self.executor.map(partial(_read, self._recipe), blocks):
            yield from found

    def entities(self, text: str) -> list[str]:
        """The named entities of a text, read in this process."""
        return self.inner.entities(text)


def _read(recipe: Recipe, texts: Sequence[str]) -> list[list[Sentence]]:
    tagger: Nlp = made(recipe)
    with memory_zone(tagger) if isinstance(tagger, Spacy) else nullcontext():
        return list(tagger.sentences(texts))


class EmbedderInWorkers(AroundAnother):
    """An embedder that embeds many passages in the workers of an executor.

    Questions, and passages of fewer than `LEAST_CHARACTERS`, are embedded in this process.
    """

    def __init__(self, inner: Embedder, executor: Executor, recipe: Recipe) -> None:
        self.inner = inner
        self.executor = executor
        self._recipe = recipe

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts."""
        n_characters = sum(map(len, texts))
        if kind == "question" or n_characters < LEAST_CHARACTERS:
            return self.inner.encode(texts, kind=kind)
        share = n_characters // (BLOCKS_AT_ONCE * self.executor.n_workers)
        size = min(max(share, _LEAST_A_BLOCK), FIRST_BLOCK)
        encode = partial(_encode, self._recipe, kind)
        return np.concatenate(list(self.executor.map(encode, _cut(texts, size))))


def _cut(texts: Sequence[str], n_characters: int) -> Iterator[list[str]]:
    block: list[str] = []
    held = 0
    for text in texts:
        block.append(text)
        held += len(text)
        if held >= n_characters:
            yield block
            block, held = [], 0
    if block:
        yield block


def _encode(recipe: Recipe, kind: Kind, texts: Sequence[str]) -> Vectors:
    embedder: Embedder = made(recipe)
    return embedder.encode(texts, kind=kind)
