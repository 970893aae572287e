"""What a graph says of its communities: members, relationships and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from graphrag_bench.columns import row_ids
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.sentences import split_sentences

_IN_TITLE = 3


@dataclass(frozen=True, eq=False)
class Contents:
    """What a graph says of its communities."""

    graph: Graph
    communities: Communities

    @cached_property
    def names(self) -> list[str]:
        """The name of each node."""
        return list(self.graph.names)

    @cached_property
    def descriptions(self) -> list[str]:
        """The description of each node, "" where there is none."""
        return list(self.graph.descriptions or [""] * self.graph.n_nodes)

    @cached_property
    def degree(self) -> list[int]:
        """The degree of each node."""
        degrees: list[int] = self.graph.degree.tolist()
        return degrees

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """The head and the tail of each relationship row."""
        return list(zip(self.graph.source.tolist(), self.graph.target.tolist(), strict=True))

    @cached_property
    def facts(self) -> list[str]:
        """What each relationship row says: its description, or its names and relation."""
        described = list(self.graph.facts or [""] * self.graph.n_relationships)
        rows = zip(described, self.ends, self._relations, strict=True)
        return [
            text or " ".join(f"{self.names[head]} {relation} {self.names[tail]}".split())
            for text, (head, tail), relation in rows
        ]

    @cached_property
    def _relations(self) -> list[str]:
        return list(self.graph.relations)

    @cached_property
    def _incident(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for row, pair in enumerate(self.ends):
            for node in dict.fromkeys(pair):
                found.setdefault(node, []).append(row)
        return found

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for row, parent in enumerate(self.communities.parent.tolist()):
            found.setdefault(parent, []).append(row)
        return found

    def parts(self, community: int) -> list[int]:
        """Return the communities that a community was split into, in the order of their rows."""
        return self._parts.get(community, [])

    def members(self, community: int) -> list[int]:
        """Return the nodes of a community, the highest degree first, ties by name."""
        members = row_ids(self.communities.nodes, community).tolist()
        return sorted(members, key=lambda node: (-self.degree[node], self.names[node]))

    def relationships(self, community: int) -> list[int]:
        """Return the rows with an end in it, the highest rank first, ties by names and fact."""
        members = set(self.members(community))
        rows = {row for node in members for row in self._incident.get(node, ())}
        return sorted(rows, key=lambda row: self._place(row, members))

    def _place(self, row: int, members: set[int]) -> tuple[int, str, str, str, str, int]:
        head, tail = self.ends[row]
        words = self.names[head], self.names[tail], self.facts[row], self._relations[row]
        return -self.rank(row, members), *words, row

    def rank(self, row: int, members: set[int]) -> int:
        """Return the degrees of the ends of a row that are among some members, together."""
        return sum(self.degree[end] for end in self.ends[row] if end in members)

    def title(self, community: int) -> str:
        """Return the names of the three most connected members."""
        return ", ".join(self.names[node] for node in self.members(community)[:_IN_TITLE])

    def sentences(self, community: int, most: int) -> list[tuple[int, str]]:
        """Return member and sentence, at most `most`, for each member in turn one sentence.

        Where nothing is described, what the relationships within the community say.
        """
        members = self.members(community)
        inside = set(members)
        lists: list[Sequence[tuple[int, str]]] = [
            [(member, text) for text in split_sentences(self.descriptions[member])][:most]
            for member in members[:most]
        ]
        inner: list[tuple[int, str]] = []
        for row in self.relationships(community):
            if inside.issuperset(self.ends[row]) and len(inner) < most:
                inner += [(self.ends[row][0], text) for text in split_sentences(self.facts[row])]
        turns = (pair for turn in zip_longest(*lists, inner[:most]) for pair in turn if pair)
        return list(dict.fromkeys(turns))[:most]
