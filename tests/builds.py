"""Small inputs of builders, taggers that are told what they read, and graphs as lists."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphrag_bench.algorithms.extraction import (
    ChunkExtraction,
    ChunkRecords,
    EntityRecord,
    Extraction,
    RelationshipRecord,
    TextExtraction,
    Triple,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.long_texts import Fit
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)


def table(*texts: str, title: str = "") -> ChunkTable:
    """One document and chunk for each text, all of one title."""
    return ChunkTable.of([(f"d{row}", title, text) for row, text in enumerate(texts)])


def texts(n: int) -> ChunkTable:
    """So many different chunks."""
    return table(*(f"text {row}" for row in range(n)))


def extraction(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> Extraction:
    """One (entities, triples) for each chunk."""
    rows = [
        ChunkExtraction(tuple(entities), tuple(Triple(*triple) for triple in triples))
        for entities, triples in chunks
    ]
    return Extraction(tuple(rows), {})


def related(
    source: str, target: str, description: str = "", *keywords: str, strength: float = 1.0
) -> RelationshipRecord:
    """A described relationship."""
    return RelationshipRecord(source, target, description, keywords, strength)


def described(*chunks: Sequence[EntityRecord | RelationshipRecord]) -> TextExtraction:
    """The records of each chunk."""
    rows = [
        ChunkRecords(
            tuple(one for one in chunk if isinstance(one, EntityRecord)),
            tuple(one for one in chunk if isinstance(one, RelationshipRecord)),
        )
        for chunk in chunks
    ]
    return TextExtraction.of(rows, {})


class FixedTagger:
    """A tagger that reads the same sentences in every text."""

    identity = "told"

    def __init__(self, *sentences: Sentence) -> None:
        self.read = list(sentences)

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        return iter([self.read for _ in texts])


class Known:
    """A tagger that knows some names with their labels; a sentence ends at a dot."""

    identity = "known"

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        for text in texts:
            parts = [part.strip() for part in text.split(".") if part.strip()]
            yield [Sentence(f"{part}.", self._named(part), (), ()) for part in parts]

    def _named(self, text: str) -> tuple[tuple[str, str], ...]:
        names = sorted((name for name in self.labels if name in text), key=text.index)
        return tuple((name, self.labels[name]) for name in names)


class Words:
    """Capitalised words are people, some names of several words too, and some words counts.

    A sentence ends at a dot, or not; a title may stand in no sentence.
    """

    identity = "words"

    def __init__(self, *names: str, counts: str = "", apart: bool = False) -> None:
        self.names, self.counts, self.apart = names, counts, apart

    def sentences(self, texts):
        for text in texts:
            parts = text.split("\n")[-1].split(".") if self.apart else [text]
            yield [self._sentence(part.strip()) for part in parts if part.strip()]

    def _sentence(self, text: str) -> Sentence:
        names = re.findall("|".join([*self.names, r"[A-Z]\w*"]), text)
        kinds = {self.counts: "CARDINAL"}
        return Sentence(text, tuple((name, kinds.get(name, "PERSON")) for name in names), (), ())


class Lengths:
    """An embedder for which a text is a direction by its length."""

    identity, dimension = "lengths", 2

    def fit(self, texts: Sequence[str]) -> Fit:
        return Fit(None, "cut", len(texts))

    def encode(self, texts: Sequence[str], *, kind: str) -> Any:
        return unit([len(text) / 40 for text in texts])


def unit(angles: Sequence[float]) -> Any:
    """Unit vectors of these angles, float32 (n, 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def dense(matrix: Any) -> list[list[int]]:
    """The rows of a sparse matrix."""
    return matrix.toarray().astype(int).tolist()


def chunks_of(matrix: Any) -> list[list[int]]:
    """The columns of every row of a sparse matrix."""
    return [row.indices.tolist() for row in matrix]


def ends(graph: Graph) -> list[tuple[int, int]]:
    """Source and target of every relationship."""
    return list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))


def facts(graph: Graph) -> list[tuple[str, str, str, float]]:
    """Head, relation, tail and weight of every relationship."""
    names, columns = list(graph.names), zip(graph.relations, graph.weight.tolist(), strict=True)
    pairs = zip(ends(graph), columns, strict=True)
    return [(names[head], name, names[tail], weight) for (head, tail), (name, weight) in pairs]
