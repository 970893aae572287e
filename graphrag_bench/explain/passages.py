"""A document in the artifacts of a run, and its rank after each step of a question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.explain.names import ArtifactNames, has
from graphrag_bench.explain.text import words
from graphrag_bench.values import (
    DECIMALS,
    ChunkScores,
    Context,
    FloatArray,
    IntArray,
    NodeScores,
    Ranked,
    RelationshipScores,
    RowScores,
)

MOST_NAMED = 3
_NamedRows = tuple[tuple[str, int, float], ...]
"""Name, rank and score of each."""
_SCORED = {ChunkScores: "chunks", NodeScores: "nodes", RelationshipScores: "relationships"}


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
    rows: _NamedRows = ()

    def __str__(self) -> str:
        place = f"not among {self.n:,}" if self.rank is None else f"{self.rank:,} of {self.n:,}"
        return f"{self.slot.replace('_', ' ')}: {place}"


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

    def ranks(self, trace: Iterable[tuple[str, Mapping[str, Any]]]) -> list[PassageRank]:
        """Return its rank after each step that ranks or packs something, in order.

        `trace` has the label of each step and what it wrote, by slot: as values, or as a stored
        row has them, which holds no scores of all rows of a table.
        """
        ranks = []
        for step, wrote in trace:
            for slot, value in wrote.items():
                if (ranked := self._ranked(slot, value)) is not None:
                    rows, n = ranked
                    ranks.append(PassageRank(step, slot, rows[0][1] if rows else None, n, rows))
        return ranks

    def _ranked(self, slot: str, value: Any) -> tuple[_NamedRows, int] | None:
        """Return its best rows in a value, and the number of rows that are ranked there."""
        if isinstance(value, Context):
            value = {"pieces": [vars(piece) for piece in value.pieces]}
        if has(value, "pieces"):
            rows = [
                (self.document, rank, float(piece["score"]))
                for rank, piece in enumerate(value["pieces"], 1)
                if piece["kind"] == "chunk"
                and self.document in (piece["id"], *piece.get("also", ()))
            ]
            return tuple(rows[:MOST_NAMED]), len(value["pieces"])
        ranked = _ranked_rows(slot, value)
        if ranked is None or ranked[0] not in self.rows:
            return None
        kind, ids, scores = ranked
        names = ArtifactNames(self.chunks, self.graph)
        places = np.flatnonzero(np.isin(ids, self.rows[kind]))[:MOST_NAMED].tolist()
        named = [words(names.row(kind, int(ids[at]))) for at in places]
        rows = [(name, at + 1, float(scores[at])) for name, at in zip(named, places, strict=True)]
        return tuple(rows), len(ids)


def _ranked_rows(slot: str, value: Any) -> tuple[str, IntArray, FloatArray] | None:
    """Return kind, ids and scores of ranked rows: of a table those above 0, ties by id."""
    if has(value, "ids", "scores"):
        return slot, np.array(value["ids"], np.int64), np.array(value["scores"], np.float64)
    if isinstance(value, Ranked):
        return slot, value.ids, value.scores
    if isinstance(value, RowScores) and type(value) in _SCORED:
        scores = np.round(value.values, DECIMALS)
        ids = np.lexsort((np.arange(len(scores)), -scores))
        ids = ids[scores[ids] > 0]
        return _SCORED[type(value)], ids, scores[ids]
    return None


def stored_trace(row: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the label of each step of a stored row, and what it wrote."""
    return [(step["step"], step["wrote"]) for step in row.get("trace", ())]


def lost_at(ranks: Sequence[PassageRank]) -> PassageRank | None:
    """Return the step at which a passage was lost: the first of those at the end without it.

    None where the last of them has it, and where no step ranks anything.
    """
    lost = list(takewhile(lambda one: one.rank is None, reversed(ranks)))
    return lost[-1] if lost else None
