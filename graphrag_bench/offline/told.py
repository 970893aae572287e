"""What a graph tells of its communities: members, relationships and sentences, by columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.sentences import split_sentences
from graphrag_bench.offline.text_order import text_places
from graphrag_bench.values import IntArray

_IN_TITLE = 3


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows by the id that a column gives them: those of i are `rows[starts[i]:starts[i + 1]]`."""

    starts: IntArray
    rows: IntArray

    @classmethod
    def by(cls, ids: IntArray, n: int) -> Rows:
        """The rows of a column (n_rows,) of ids in 0..n-1, those of one id ascending."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=n))])
        return cls(starts.astype(np.int64), np.argsort(ids, kind="stable"))

    def of(self, ids: IntArray) -> IntArray:
        """The rows of some ids, id by id."""
        starts = self.starts[ids]
        counts = self.starts[ids + 1] - starts
        ends = np.cumsum(counts)
        places: IntArray = np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts)
        return np.asarray(self.rows[places], np.int64)


@dataclass(frozen=True, eq=False)
class Told:
    """What a graph tells of its communities."""

    graph: Graph
    communities: Communities

    @cached_property
    def _name_place(self) -> IntArray:
        return text_places(self.graph.names)

    @cached_property
    def _fact_place(self) -> IntArray:
        """The place of each row among those that join the same two nodes, by what it says.

        Rows are in order of first mention, which a document before them can change.
        """
        place = np.zeros(self.graph.n_relationships, np.int64)
        rows = np.unique(self.graph.parallel)
        said = sorted(rows.tolist(), key=lambda row: (self.fact(row), self.graph.relations[row]))
        place[said] = np.arange(len(said))
        return place

    @cached_property
    def _outward(self) -> Rows:
        return Rows.by(self.graph.source, self.graph.n_nodes)

    @cached_property
    def _inward(self) -> Rows:
        return Rows.by(self.graph.target, self.graph.n_nodes)

    @cached_property
    def _members(self) -> IntArray:
        """The nodes of all communities, of each the highest degree first, ties by name."""
        held = self.communities.nodes
        nodes = np.asarray(held.indices, np.int64)
        community = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
        return nodes[np.lexsort((self._name_place[nodes], -self.graph.degree[nodes], community))]

    @cached_property
    def _is_member(self) -> np.ndarray:
        return np.zeros(self.graph.n_nodes, bool)

    @cached_property
    def _parts(self) -> Rows:
        return Rows.by(self.communities.parent + 1, len(self.communities) + 1)

    def parts(self, community: int) -> IntArray:
        """The communities that a community was split into, in the order of their rows."""
        return self._parts.of(np.array([community + 1]))

    def members(self, community: int) -> IntArray:
        """The nodes of a community, the highest degree first, ties by name."""
        return self._members[slice(*self.communities.nodes.indptr[community : community + 2])]

    def relationships(self, community: int) -> IntArray:
        """The rows with an end in a community, the highest rank first, ties by names and fact."""
        members = self.members(community)
        touching = [self._outward.of(members), self._inward.of(members)]
        return self._ordered(community, np.unique(np.concatenate(touching)))

    def rank(self, community: int, rows: IntArray) -> IntArray:
        """The degrees of the ends within a community together of some rows, int64 (n_rows,)."""
        members, degree = self.members(community), self.graph.degree
        self._is_member[members] = True
        ends = [end[rows] for end in (self.graph.source, self.graph.target)]
        found = sum(np.where(self._is_member[end], degree[end], 0) for end in ends)
        self._is_member[members] = False
        return np.asarray(found, np.int64)

    def inner_relationships(self, community: int) -> IntArray:
        """The rows with both ends in a community, in the same order."""
        members = self.members(community)
        rows = self._outward.of(members)
        self._is_member[members] = True
        rows = rows[self._is_member[self.graph.target[rows]]]
        self._is_member[members] = False
        return self._ordered(community, np.sort(rows))

    def _ordered(self, community: int, rows: IntArray) -> IntArray:
        ends = self.graph.target[rows], self.graph.source[rows]
        names = (self._name_place[end] for end in ends)
        return rows[np.lexsort((self._fact_place[rows], *names, -self.rank(community, rows)))]

    def fact(self, row: int) -> str:
        """What a relationship row says: its description, or its names and relation."""
        graph = self.graph
        if graph.facts and (described := graph.facts[row]):
            return described
        head, tail = (graph.names[int(ends[row])] for ends in (graph.source, graph.target))
        return " ".join(f"{head} {graph.relations[row]} {tail}".split())

    def description(self, node: int) -> str:
        """The description of a node, "" where there is none."""
        return self.graph.descriptions[node] if self.graph.descriptions else ""

    def title(self, community: int) -> str:
        """The names of the three most connected members."""
        return ", ".join(self.graph.names.take(self.members(community)[:_IN_TITLE]))

    def sentences(self, community: int, most: int) -> list[tuple[int, str]]:
        """Member and sentence, at most `most`, for each member in turn one sentence.

        Where nothing is described, what the relationships say.
        """
        told: list[list[tuple[int, str]]] = []
        for member in self.members(community)[:most].tolist():
            own = [(member, text) for text in split_sentences(self.description(member))]
            told.append(own[:most])
        told.append(list(self._inner_facts(self.inner_relationships(community), most)))
        return _in_turn(told, most)

    def _inner_facts(self, rows: IntArray, most: int) -> Iterable[tuple[int, str]]:
        n_left = most
        for row in map(int, rows):
            head = int(self.graph.source[row])
            for text in split_sentences(self.fact(row))[:n_left]:
                yield head, text
                n_left -= 1
            if n_left <= 0:
                return


def _in_turn(lists: Sequence[Sequence[tuple[int, str]]], most: int) -> list[tuple[int, str]]:
    turns = (pair for turn in zip_longest(*lists) for pair in turn if pair is not None)
    return list(dict.fromkeys(turns))[:most]
