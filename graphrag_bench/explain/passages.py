"""A document in the artifacts of a run, and its rank after each step of a stored question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.explain.names import ArtifactNames, has
from graphrag_bench.explain.text import words
from graphrag_bench.run.folder import Row
from graphrag_bench.values import IntArray

MOST_NAMED = 3


@dataclass(frozen=True)
class PassageRank:
    """The best rank, from 1, of a row of a passage among the `n` that a step ranked.

    `rank` is None where no row of the passage is among them. `rows` are the best of its rows, each
    with its name, rank and score.
    """

    step: str
    slot: str
    rank: int | None
    n: int
    rows: tuple[tuple[str, int, float], ...] = ()

    def __str__(self) -> str:
        place = f"not among {self.n:,}" if self.rank is None else f"{self.rank:,} of {self.n:,}"
        return f"{self.slot}: {place}"


@dataclass(frozen=True)
class LocatedDocument:
    """A document as the artifacts of a run have it: its chunks, and the rows that they gave."""

    document: str
    chunks: ChunkTable
    graph: Graph | None

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The rows of the document by kind: its chunks, the nodes it names, what it states.

        The ends of what it states are nodes of it, and those that it does not name too.
        """
        chunks = np.array(self.chunks.chunks_of(self.document), np.int64)
        if self.graph is None:
            return {"chunks": chunks}
        stated = np.unique(self.graph.chunk_relationship[chunks].indices)
        ends = (self.graph.source[stated], self.graph.target[stated])
        nodes = np.unique(np.concatenate([self.named, *ends])).astype(np.int64)
        return {"chunks": chunks, "relationships": stated, "nodes": nodes}

    @property
    def named(self) -> IntArray:
        """The nodes that its chunks name."""
        assert self.graph is not None
        return np.unique(self.graph.chunk_node[self.chunks.chunks_of(self.document)].indices)

    def ranks(self, row: Row) -> list[PassageRank]:
        """Return its rank after each step of a stored row that ranks or packs something."""
        ranks = []
        for step in row.get("trace", ()):
            for slot, value in step["wrote"].items():
                if has(value, "pieces"):
                    rows, n = self._pieces(value["pieces"]), len(value["pieces"])
                elif slot in self.rows and has(value, "ids", "scores"):
                    rows, n = self._rows(slot, value), len(value["ids"])
                else:
                    continue
                rank = rows[0][1] if rows else None
                ranks.append(PassageRank(step["step"], slot, rank, n, tuple(rows[:MOST_NAMED])))
        return ranks

    def _pieces(self, pieces: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, float]]:
        return [
            (self.document, rank, piece["score"])
            for rank, piece in enumerate(pieces, 1)
            if piece["kind"] == "chunk" and self.document in (piece["id"], *piece.get("also", ()))
        ]

    def _rows(self, kind: str, value: Mapping[str, Any]) -> list[tuple[str, int, float]]:
        names, own = ArtifactNames(self.chunks, self.graph), set(self.rows[kind].tolist())
        pairs = zip(value["ids"], value["scores"], strict=True)
        return [
            (words(names.row(kind, row)), rank, score)
            for rank, (row, score) in enumerate(pairs, 1)
            if row in own
        ]


def lost_at(ranks: Sequence[PassageRank]) -> PassageRank | None:
    """Return the step at which a passage was lost: the first of those at the end without it.

    None where the last of them has it, and where no step ranks anything.
    """
    lost = list(takewhile(lambda one: one.rank is None, reversed(ranks)))
    return lost[-1] if lost else None
