"""Small inputs of builders, scripted taggers, and graphs as lists."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphrag_bench.algorithms import extraction as records
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.long_texts import TextLengths
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)


def table(*texts: str, title: str = "") -> ChunkTable:
    """Return a table with one document and chunk for each text, all with one title."""
    return ChunkTable.of([(f"d{row}", title, text) for row, text in enumerate(texts)])


def texts(n: int) -> ChunkTable:
    return table(*(f"text {row}" for row in range(n)))


def extraction(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> records.Extraction:
    """Return an extraction from (entities, triples) of each chunk."""
    rows = (
        records.ChunkExtraction(tuple(names), tuple(records.Triple(*one) for one in triples))
        for names, triples in chunks
    )
    return records.Extraction(tuple(rows), {})


def related(
    source: str, target: str, description: str = "", *keywords: str, strength: float = 1.0
) -> records.RelationshipRecord:
    return records.RelationshipRecord(source, target, description, keywords, strength)


def described(*chunks: Sequence[Any]) -> records.TextExtraction:
    """Return an extraction from the records of each chunk."""
    kinds = records.EntityRecord, records.RelationshipRecord
    parts = ((tuple(r for r in chunk if isinstance(r, kind)) for kind in kinds) for chunk in chunks)
    return records.TextExtraction.of([records.ChunkRecords(*part) for part in parts], {})


class FixedTagger:
    """A tagger that returns the same sentences for every text."""

    identity = "told"

    def __init__(self, *sentences: Sentence) -> None:
        self.read = list(sentences)

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        return iter([self.read for _ in texts])


class Known:
    """A tagger of given names with labels; sentences end at dots."""

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
    """A tagger of capitalised words and given `names` as people; a text is one sentence."""

    identity = "words"

    def __init__(self, *names: str) -> None:
        self.names = names

    def sentences(self, texts):
        for text in texts:
            names = re.findall("|".join([*self.names, r"[A-Z]\w*"]), text)
            yield [Sentence(text, tuple((name, "PERSON") for name in names), (), ())]


class Lengths:
    """An embedder whose vectors are at an angle by the length of the text."""

    identity, dimension = "lengths", 2

    def text_lengths(self, texts: Sequence[str]) -> TextLengths:
        return TextLengths(None, "cut", len(texts))

    def encode(self, texts: Sequence[str], *, kind: str) -> Any:
        return unit([len(text) / 40 for text in texts])


def unit(angles: Sequence[float]) -> Any:
    """Return unit vectors of these angles, float32 (n, 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def dense(matrix: Any) -> list[list[int]]:
    return matrix.toarray().astype(int).tolist()


def chunks_of(matrix: Any) -> list[list[int]]:
    """Return the columns of each row of a sparse matrix."""
    return [row.indices.tolist() for row in matrix]


def ends(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))


def facts(graph: Graph) -> list[tuple[str, str, str, float]]:
    """Return head, relation, tail and weight of each relationship."""
    names, columns = list(graph.names), zip(graph.relations, graph.weight.tolist(), strict=True)
    pairs = zip(ends(graph), columns, strict=True)
    return [(names[head], name, names[tail], weight) for (head, tail), (name, weight) in pairs]
