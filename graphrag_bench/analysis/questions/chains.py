"""Chains of facts in a graph whose last name is the only one that they can end in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.extraction import CO_OCCURS


@dataclass(frozen=True)
class Chain:
    """Relationship rows that lead on from each other, and the nodes that they join in order."""

    nodes: tuple[int, ...]
    rows: tuple[int, ...]


class Chains:
    """The chains of one graph: directed facts that some chunk states.

    Synonymy edges, and names that merely share a sentence, are not facts.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        stated = np.diff(graph.relationship_chunk.tocsr().indptr) > 0
        usable = stated & ~np.asarray(graph.synonym) & (graph.source != graph.target)
        rows = np.flatnonzero(usable).tolist()
        self.rows = np.array([r for r in rows if graph.relations[r] != CO_OCCURS], np.int64)
        self._from: dict[int, list[int]] = defaultdict(list)
        for row in self.rows.tolist():
            self._from[int(graph.source[row])].append(row)
        self._joined = {
            frozenset((int(graph.source[row]), int(graph.target[row])))
            for row in self.rows.tolist()
        }

    def drawn(self, hops: int, n: int, rng: np.random.Generator) -> list[Chain]:
        """At most `n` chains of that many hops, drawn by `rng`, no two of the same wording.

        No node is twice in a chain, its last one is not joined to its first by one fact alone,
        and its relations followed from its first node end at its last.
        """
        found: dict[tuple[int, tuple[str, ...]], Chain] = {}
        for first in rng.permutation(self.rows).tolist():
            if len(found) == n:
                break
            chain = next(self._extended((first,), hops, rng), None)
            if chain is not None:
                found.setdefault((chain.nodes[0], self.relations(chain)), chain)
        return list(found.values())

    def relations(self, chain: Chain) -> tuple[str, ...]:
        """The names of the relationships of a chain."""
        return tuple(self.graph.relations[row] for row in chain.rows)

    def _extended(
        self, rows: tuple[int, ...], hops: int, rng: np.random.Generator
    ) -> Iterator[Chain]:
        ends = [int(self.graph.target[row]) for row in rows]
        nodes = (int(self.graph.source[rows[0]]), *ends)
        if len(set(nodes)) < len(nodes):
            return
        if len(rows) == hops:
            chain = Chain(nodes, rows)
            if self._one_answer(chain):
                yield chain
            return
        onward = self._from.get(nodes[-1], [])
        for at in rng.permutation(len(onward)).tolist():
            yield from self._extended((*rows, onward[at]), hops, rng)

    def _one_answer(self, chain: Chain) -> bool:
        if len(chain.rows) > 1 and frozenset((chain.nodes[0], chain.nodes[-1])) in self._joined:
            return False
        reached = {chain.nodes[0]}
        for name in self.relations(chain):
            reached = {
                int(self.graph.target[row])
                for node in sorted(reached)
                for row in self._from.get(node, [])
                if self.graph.relations[row] == name
            }
        return reached == {chain.nodes[-1]}


def evidence_chunks(graph: Graph, rows: Sequence[int]) -> list[int]:
    """The first chunk that states each row, each chunk once, in the order of the rows."""
    matrix = graph.relationship_chunk.tocsr()
    firsts = [
        int(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].min()) for row in rows
    ]
    return list(dict.fromkeys(firsts))


def as_written(name: str, chunks: Sequence[int], table: ChunkTable) -> str:
    """The name as a chunk writes it, capitals and all; the name itself where none does."""
    for chunk in chunks:
        passage = table.passage(chunk)
        at = passage.casefold().find(name.casefold())
        if at >= 0 and len(passage.casefold()) == len(passage):
            return passage[at : at + len(name)]
    return name
