"""A passage in the artifacts of a run, and where it stands after each step of a question.

Its rank among what each step ranks or packs, and what it owes that to.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.explain.names import Names, has
from graphrag_bench.explain.text import words
from graphrag_bench.pipeline.pipeline import Finished
from graphrag_bench.run.folder import Row
from graphrag_bench.values import (
    DECIMALS,
    ChunkScores,
    Context,
    IntArray,
    NodeScores,
    Piece,
    Ranked,
    RelationshipScores,
    RowScores,
)

MOST_NAMED = 3
_SCORED = {ChunkScores: "chunks", NodeScores: "nodes", RelationshipScores: "relationships"}


@dataclass(frozen=True)
class Standing:
    """What one step gave a passage: the best rank, from 1, of a row of it among `n` ranked ones.

    `rank` is None where no row of the passage is among them. `rows` names the best of its rows with
    ranks and scores.
    """

    step: str
    slot: str
    rank: int | None
    n: int
    rows: tuple[tuple[str, int, float], ...] = ()

    def __str__(self) -> str:
        place = f"not among {self.n:,}" if self.rank is None else f"{self.rank:,} of {self.n:,}"
        return f"{self.slot.replace('_', ' ')}: {place}"


@dataclass(frozen=True)
class Passage:
    """A document as the artifacts of a run have it: its chunks, and the rows that they gave."""

    document: str
    chunks: ChunkTable
    graph: Graph | None

    @classmethod
    def of(cls, document: str, resources: Mapping[str, Any]) -> "Passage":
        """Return the document in the artifacts that a question was retrieved with."""
        return cls(document, resources["chunk_table"], resources.get("graph"))

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The rows of the passage by kind: its chunks, the nodes it names, what it states.

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

    def name(self, kind: str, row: int) -> str:
        """Return what a row is called: a node by its name, a relationship as it is stated."""
        return words(Names(self.chunks, self.graph).row(kind, row))

    def standings(self, finished: Finished) -> list[Standing]:
        """Return where it stands after each step that ranks or packs something, in order."""
        return self._after((step.step, step.wrote) for step in finished.trace)

    def stored_standings(self, row: Row) -> list[Standing]:
        """Return the same of a stored row, which holds no scores of all rows of a table."""
        return self._after((step["step"], step["wrote"]) for step in row.get("trace", ()))

    def _after(self, steps: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Standing]:
        standings = (
            self._standing(step, slot, _unpacked(value))
            for step, wrote in steps
            for slot, value in wrote.items()
        )
        return [one for one in standings if one is not None]

    def _standing(self, step: str, slot: str, value: Any) -> Standing | None:
        if isinstance(value, Context):
            rows = [
                (self.document, place, piece.score)
                for place, piece in enumerate(value.pieces, 1)
                if piece.kind == "chunk" and self.document in (piece.id, *piece.also)
            ]
            return _standing(step, slot, rows, len(value.pieces))
        if isinstance(value, RowScores):  # among the rows with a score above 0, ties by id
            kind = _SCORED.get(type(value), "")
            scores = np.round(value.values, DECIMALS)
            ids = np.lexsort((np.arange(len(scores)), -scores))
            ids = ids[scores[ids] > 0]
            scores = scores[ids]
        elif isinstance(value, Ranked):
            kind, ids, scores = slot, value.ids, value.scores
        else:
            return None
        if kind not in self.rows:
            return None
        places = np.flatnonzero(np.isin(ids, self.rows[kind]))[:MOST_NAMED].tolist()
        rows = [(self.name(kind, int(ids[at])), at + 1, float(scores[at])) for at in places]
        return _standing(step, slot, rows, len(ids))


def _unpacked(value: Any) -> Any:
    """Return the value of which `record.summary` made a mapping; any other as it is."""
    if has(value, "ids", "scores"):
        return Ranked(value["ids"], value["scores"])
    if has(value, "pieces"):
        pieces = (
            Piece(one["kind"], one["id"], "", one["score"], one["tokens"], one.get("also", ()))
            for one in value["pieces"]
        )
        return Context(tuple(pieces))
    return value


def _standing(step: str, slot: str, rows: list[tuple[str, int, float]], n: int) -> Standing:
    return Standing(step, slot, rows[0][1] if rows else None, n, tuple(rows[:MOST_NAMED]))


def lost_at(standings: Sequence[Standing]) -> Standing | None:
    """Return the step at which a passage was lost: the first of those at the end without it.

    None where the last of them has it, and where no step ranks anything.
    """
    lost = list(takewhile(lambda one: one.rank is None, reversed(standings)))
    return lost[-1] if lost else None
