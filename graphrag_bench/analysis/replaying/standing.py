"""Where a passage stands after each step of a question: its rank, and what it owes that to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.values import (
    DECIMALS,
    ChunkScores,
    Context,
    IntArray,
    NodeScores,
    Ranked,
    RelationshipScores,
    RowScores,
)

MOST_NAMED = 3


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
        what = self.slot.replace("_", " ")
        place = f"{self.rank:,}" if self.rank is not None else "not"
        return f"{what}: {place} {'of' if self.rank is not None else 'among'} {self.n:,}"


@dataclass(frozen=True)
class Passage:
    """A document as the artifacts of a run hold it: its chunks, and the rows that they gave."""

    document: str
    chunks: ChunkTable
    graph: Graph | None

    @classmethod
    def of(cls, document: str, resources: Mapping[str, Any]) -> Passage:
        """The document in the artifacts that a question was retrieved with."""
        return cls(document, resources["chunk_table"], resources.get("graph"))

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The rows of the passage by kind: its chunks, the nodes it names, what it states."""
        chunks = np.array(self.chunks.chunks_of(self.document), np.int64)
        found = {"chunks": chunks}
        if self.graph is not None:
            found["relationships"] = np.unique(self.graph.chunk_relationship[chunks].indices)
            named = np.unique(self.graph.chunk_node[chunks].indices)
            ends = found["relationships"]
            found["nodes"] = np.unique(
                np.concatenate([named, self.graph.source[ends], self.graph.target[ends]])
            ).astype(np.int64)
        return found

    def name(self, kind: str, row: int) -> str:
        """What a row is called: a node by its name, a relationship as it is stated."""
        graph = self.graph
        if kind == "chunks" or graph is None:
            return self.chunks.titles[row] or ", ".join(self.chunks.documents_of(row))
        if kind == "nodes":
            return str(graph.names[row])
        head, tail = graph.names[int(graph.source[row])], graph.names[int(graph.target[row])]
        return f"{head} | {graph.relations[row] or '-'} | {tail}"


_KINDS = {
    "chunks": "chunks", "nodes": "nodes", "relationships": "relationships",
    ChunkScores: "chunks", NodeScores: "nodes", RelationshipScores: "relationships",
}  # fmt: skip


def standings(finished: Finished, passage: Passage) -> list[Standing]:
    """Where a passage stands after each step that ranks or packs something, in their order."""
    return [
        found
        for step in finished.trace
        for slot, value in step.wrote.items()
        if (found := _standing(step.step, slot, value, passage)) is not None
    ]


def _standing(step: str, slot: str, value: Any, passage: Passage) -> Standing | None:
    if isinstance(value, Context):
        return _in_context(step, slot, value, passage)
    kind = _KINDS.get(type(value)) if isinstance(value, RowScores) else _KINDS.get(slot)
    if kind is None or kind not in passage.rows:
        return None
    if isinstance(value, RowScores):
        return _scored(step, slot, kind, value, passage)
    return _ranked(step, slot, kind, value, passage) if isinstance(value, Ranked) else None


def _in_context(step: str, slot: str, value: Context, passage: Passage) -> Standing:
    held = [
        (place, piece.score)
        for place, piece in enumerate(value.pieces, 1)
        if piece.kind == "chunk" and passage.document in (piece.id, *piece.also)
    ]
    rows = tuple((passage.document, place, score) for place, score in held[:MOST_NAMED])
    return Standing(step, slot, held[0][0] if held else None, len(value.pieces), rows)


def _ranked(step: str, slot: str, kind: str, value: Ranked[Any], passage: Passage) -> Standing:
    places = np.flatnonzero(np.isin(value.ids, passage.rows[kind]))
    rows = tuple(
        (passage.name(kind, int(value.ids[at])), int(at) + 1, float(value.scores[at]))
        for at in places[:MOST_NAMED]
    )
    return Standing(step, slot, int(places[0]) + 1 if len(places) else None, len(value), rows)


def _scored(step: str, slot: str, kind: str, value: RowScores, passage: Passage) -> Standing:
    """Among the rows with a score above 0, ties by id."""
    rounded = np.round(value.values, DECIMALS)
    order = np.lexsort((np.arange(len(rounded)), -rounded))
    order = order[rounded[order] > 0]
    places = np.flatnonzero(np.isin(order, passage.rows[kind]))
    rows = tuple(
        (passage.name(kind, int(order[at])), int(at) + 1, float(rounded[order[at]]))
        for at in places[:MOST_NAMED]
    )
    return Standing(step, slot, int(places[0]) + 1 if len(places) else None, len(order), rows)


def lost_at(found: Sequence[Standing]) -> Standing | None:
    """The step at which a passage was lost: the first without it, of those at the end without it.

    None where the last of them has it, and where no step ranks anything.
    """
    lost = None
    for one in reversed(found):
        if one.rank is not None:
            break
        lost = one
    return lost


Pair = tuple[Standing | None, Standing | None]


def last_of(before: Sequence[Standing], after: Sequence[Standing]) -> Pair:
    """Where a passage stands among the chunks in the end, else after the last step; twice."""
    return _last(before), _last(after)


def _last(found: Sequence[Standing]) -> Standing | None:
    chunks = [one for one in found if one.slot == "chunks"]
    return (chunks or [*found])[-1] if found else None


def first_move(before: Sequence[Standing], after: Sequence[Standing]) -> Pair | None:
    """The first step at which a passage rises, where it rises in the end, or else falls.

    Steps are the same by operator and slot, in order; one that only one of the two has is passed
    over. Where no other step moves it that way it is the last one. None where it does not move.
    """
    ends = last_of(before, after)
    goal = _rise(*ends)
    if not goal:
        return None
    left = list(after)
    for one in before:
        at = next((row for row, other in enumerate(left) if _same(one, other)), None)
        if at is None:
            continue
        other = left[at]
        del left[: at + 1]
        if _rise(one, other) == goal:
            return one, other
    return ends


def _rise(before: Standing | None, after: Standing | None) -> int:
    first, second = (one.rank if one and one.rank else float("inf") for one in (before, after))
    return int(first > second) - int(first < second)


def _same(one: Standing, other: Standing) -> bool:
    return (one.slot, one.step.rpartition(" ")[2]) == (other.slot, other.step.rpartition(" ")[2])


def ways(
    graph: Graph, starts: Sequence[int], passage: Passage, most: int = MOST_NAMED
) -> Iterator[str]:
    """The shortest ways from start nodes to the nearest nodes of a passage, as text; none in vain.

    Over relationships, or, in a graph without any, over the passages that two nodes share. Ties
    by lower id of the node that is reached.
    """
    from scipy.sparse.csgraph import dijkstra

    goal = passage.rows.get("nodes", np.empty(0, np.int64))
    if not len(starts) or not len(goal):
        return
    given = np.unique(np.asarray(starts, np.int64))
    edges = graph.adjacency > 0 if graph.n_relationships else _through_passages(graph)
    far, before, _ = dijkstra(
        edges, indices=given, unweighted=True, return_predecessors=True, min_only=True
    )
    order = goal[np.lexsort((goal, far[goal]))]
    for node in order[:most]:
        if np.isfinite(far[node]):
            walk = [int(node)]
            while before[walk[-1]] >= 0:
                walk.append(int(before[walk[-1]]))
            yield " - ".join(_place(graph, passage, row) for row in reversed(walk))


def _through_passages(graph: Graph) -> Any:
    from scipy.sparse import block_array

    held = graph.node_chunk.astype(bool)
    return block_array([[None, held], [held.T, None]], format="csr")


def _place(graph: Graph, passage: Passage, row: int) -> str:
    if row < graph.n_nodes:
        return str(graph.names[row])
    return f"[{passage.name('chunks', row - graph.n_nodes)}]"
