"""What a graph says of its communities, and the tables that reports are written from."""

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import numpy as np

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.graphs.sentences import split_sentences
from graphrag_bench.text import count_tokens
from graphrag_bench.values import FloatArray

_IN_TITLE = 3
_HEADS = {
    "Reports": "id,report,rating,importance",
    "Entities": "id,entity,type,description,degree",
    "Relationships": "id,source,target,description,rank",
}


class Contents:
    """What a graph says of its communities.

    `ends` are the head and tail of each relationship row, `facts` what it says: its description,
    or its names and relation; `parts` are the rows that a community was split into, ascending.
    """

    def __init__(self, graph: Graph, communities: Communities) -> None:
        self.graph, self.communities = graph, communities
        self.names = list(graph.names)
        self.descriptions = list(graph.descriptions or [""] * graph.n_nodes)
        self.degree: list[int] = graph.degree.tolist()
        self.ends = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
        self.relations = list(graph.relations)
        described = graph.facts or [""] * graph.n_relationships
        self.facts = [
            text or " ".join(f"{self.names[head]} {relation} {self.names[tail]}".split())
            for text, (head, tail), relation in zip(
                described, self.ends, self.relations, strict=True
            )
        ]
        self.parts: dict[int, list[int]] = {}
        for row, parent in enumerate(communities.parent.tolist()):
            self.parts.setdefault(parent, []).append(row)

    def members(self, community: int) -> list[int]:
        """Return the nodes of a community, the highest degree first, ties by name."""
        members = row_ids(self.communities.nodes, community).tolist()
        return sorted(members, key=lambda node: (-self.degree[node], self.names[node]))

    def relationships(self, community: int) -> list[int]:
        """Return the rows with an end in it, the highest rank first, ties by names and fact."""
        nodes = row_ids(self.communities.nodes, community)
        members = set(nodes.tolist())

        def place(row: int) -> tuple[int, str, str, str, str, int]:
            head, tail = (self.names[end] for end in self.ends[row])
            return -self.rank(row, members), head, tail, self.facts[row], self.relations[row], row

        return sorted(self.graph.relationships_at(nodes).tolist(), key=place)

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


def report_tables(
    contents: Contents, community: int, texts: Sequence[str], ratings: FloatArray, budget: int
) -> str:
    """Entities by degree and relationships by rank, half of the budget each; ties by name.

    Where that cuts rows off and parts of the community have reports (`texts` and `ratings` by
    community), these come first, the largest occurrence first (ties by text), as many as fit. The
    occurrence is the share of the community's chunks that the part is in, 0..1. Entities and
    relationships that the reports do not cover go before the others and share what is left. Rows
    are cut at their boundaries. The tables depend on the members alone: the same ones give the same
    text wherever their rows are.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5, as nano-graphrag packs it.
    Deviation: nano-graphrag numbers reports by community and divides occurrence by the largest of
    all communities, and a rank counts the neighbours of ends outside the community too; each of
    these would change with what the community does not hold.
    """
    nodes, rows = contents.members(community), contents.relationships(community)
    members, types = set(nodes), contents.graph.types

    def tables(room: int) -> tuple[list[str], list[str]]:
        entities = (
            _line(place, contents.names[node], types[node] if types else "",
                  contents.descriptions[node], contents.degree[node])
            for place, node in enumerate(nodes)
        )  # fmt: skip
        relationships = (
            _line(place, *(contents.names[end] for end in contents.ends[row]),
                  contents.facts[row], contents.rank(row, members))
            for place, row in enumerate(rows)
        )  # fmt: skip
        return _fitting(entities, room // 2), _fitting(relationships, room // 2)

    entities, relationships = tables(budget)
    reports: list[str] = []
    parts = [row for row in contents.parts.get(community, ()) if texts[row]]
    if parts and (len(entities) < len(nodes) or len(relationships) < len(rows)):
        n_chunks = np.diff(contents.communities.chunks.indptr)
        share = n_chunks / max(n_chunks[community], 1)
        parts.sort(key=lambda part: (-share[part], texts[part]))
        lines = (
            _line(place, texts[part], float(ratings[part]), round(float(share[part]), 3))
            for place, part in enumerate(parts)
        )
        reports = _fitting(lines, budget)
        covered = set(contents.communities.nodes[parts[: len(reports)]].indices.tolist())
        nodes.sort(key=covered.__contains__)
        rows.sort(key=lambda row: covered.issuperset(contents.ends[row]))
        entities, relationships = tables(max(budget - sum(map(count_tokens, reports)), 0))
    shown = zip(_HEADS.items(), (reports, entities, relationships), strict=True)
    return "\n\n".join(
        f"-----{name}-----\n{head}\n" + "\n".join(lines) for (name, head), lines in shown if lines
    )


def _line(*cells: object) -> str:
    text = io.StringIO()
    flat = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(text, lineterminator="").writerow(flat)
    return text.getvalue()


def _fitting(lines: Iterable[str], budget: int) -> list[str]:
    fitting, room = [], budget
    for line in lines:
        room -= count_tokens(line) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting
