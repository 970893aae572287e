"""Communities and their extracted reports as lists and dicts of everything: what ours must equal.

Communities come from leidenalg on subgraphs that igraph makes; reports hold all sentences of all
communities at once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any

import igraph
import leidenalg

from graphrag_bench.columns import row_ids
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.offline.report_tables import Part
from graphrag_bench.offline.reports import report_text
from graphrag_bench.offline.sentences import Sentences, crowded, split_sentences
from graphrag_bench.progress import Progress
from graphrag_bench.text import count_tokens, fit


def plain_view(graph: Graph) -> igraph.Graph:
    """The pairs of positive weight as igraph has them, without self-loops."""
    pairs = graph.pairs
    keep = (pairs.weight > 0) & (pairs.source != pairs.target)
    ends = zip(pairs.source[keep].tolist(), pairs.target[keep].tolist(), strict=True)
    view = igraph.Graph(n=graph.n_nodes, edges=list(ends))
    view.es["weight"] = pairs.weight[keep].tolist()
    return view


def plain_partition(view: igraph.Graph, members: Sequence[int], seed: int) -> list[list[int]]:
    """The communities of a subgraph, each sorted, in order of the lowest node."""
    made = leidenalg.find_partition(
        view.induced_subgraph(members),
        leidenalg.RBConfigurationVertexPartition,
        weights="weight",
        n_iterations=-1,
        seed=seed,
        resolution_parameter=1.0,
    )
    return sorted(sorted(members[place] for place in part) for part in made if part)


def plain_hierarchy(graph: Graph, largest: int, seed: int) -> list[tuple[int, int, list[int]]]:
    """Level, parent and nodes of all communities; those of more than `largest` are split again."""
    view = plain_view(graph)
    waiting = sorted(sorted(part) for part in view.connected_components() if len(part) > 1)
    found: list[tuple[int, int, list[int]]] = []
    level, parents = 0, [-1] * len(waiting)
    while waiting:
        first = len(found)
        for members, parent in zip(waiting, parents, strict=True):
            parts = plain_partition(view, members, seed)
            if level == 0 or len(parts) > 1:
                found += [(level, parent, part) for part in parts]
        parents = [row for row in range(first, len(found)) if len(found[row][2]) > largest]
        waiting = [found[row][2] for row in parents]
        level += 1
    return found


class PlainTold:
    """What a graph tells of its communities, by lists and dicts."""

    def __init__(self, graph: Graph, communities: Communities) -> None:
        self.graph, self.communities = graph, communities
        self.names, self.relations = list(graph.names), list(graph.relations)
        self.degree = graph.degree.tolist()

    @cached_property
    def facts(self) -> list[str]:
        """What each relationship row says."""
        graph = self.graph
        described = list(graph.facts or [""] * graph.n_relationships)
        ends = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
        plain = (f"{self.names[head]} {name} {self.names[tail]}" for head, name, tail in ends)
        return [
            text or " ".join(other.split()) for text, other in zip(described, plain, strict=True)
        ]

    @cached_property
    def incident(self) -> dict[int, list[int]]:
        """The rows of each node."""
        found: dict[int, list[int]] = {}
        ends = zip(self.graph.source.tolist(), self.graph.target.tolist(), strict=True)
        for row, pair in enumerate(ends):
            for node in dict.fromkeys(pair):
                found.setdefault(node, []).append(row)
        return found

    def members(self, community: int) -> list[int]:
        """The nodes, the highest degree first, ties by name."""
        members = row_ids(self.communities.nodes, community).tolist()
        return sorted(members, key=lambda node: (-self.degree[node], self.names[node]))

    def relationships(self, community: int) -> list[int]:
        """The rows with an end in it, the highest rank first, ties by names and fact."""
        members = set(self.members(community))
        rows = {row for node in members for row in self.incident.get(node, ())}
        return sorted(rows, key=lambda row: self.place(row, members))

    def place(self, row: int, members: set[int]) -> tuple[int, str, str, str, str, int]:
        """What rows are sorted by."""
        head, tail = int(self.graph.source[row]), int(self.graph.target[row])
        ends, said = (self.names[head], self.names[tail]), (self.facts[row], self.relations[row])
        return -self.rank(row, members), *ends, *said, row

    def rank(self, row: int, members: set[int]) -> int:
        """The degrees of the ends that are members together."""
        ends = int(self.graph.source[row]), int(self.graph.target[row])
        return sum(self.degree[end] for end in ends if end in members)

    def sentences(self, community: int, most: int) -> list[tuple[int, str]]:
        """Member and sentence, for each member in turn one sentence."""
        members = self.members(community)
        inside = set(members)
        descriptions = self.graph.descriptions or [""] * self.graph.n_nodes
        told = [
            [(member, text) for text in split_sentences(descriptions[member])]
            for member in members[:most]
        ]
        inner: list[tuple[int, str]] = []
        for row in self.relationships(community):
            head, tail = int(self.graph.source[row]), int(self.graph.target[row])
            if head in inside and tail in inside and len(inner) < most:
                inner += [(head, text) for text in split_sentences(self.facts[row])]
        told = [part[:most] for part in (*told, inner)]
        turns = (pair for turn in zip_longest(*told) for pair in turn if pair is not None)
        return list(dict.fromkeys(turns))[:most]


def plain_reports(
    graph: Graph, communities: Communities, embedder: Embedder, **settings: Any
) -> list[tuple[str, str]]:
    """Title and text of the extracted report of each community, with these settings or the usual.

    As `reports.extractive`; every sentence of every community is held.
    """
    usual = {"summary_tokens": 150, "finding_tokens": 80, "findings": 5, "max_sentences": 20}
    chosen = usual | settings
    told = PlainTold(graph, communities)
    about = [told.sentences(row, chosen["max_sentences"]) for row in range(len(communities))]
    groups = []
    for pairs in about:
        by: dict[int, list[str]] = {}
        for member, text in pairs:
            by.setdefault(member, []).append(text)
        groups.append(([text for _, text in pairs], by))
    asked = [(every, chosen["summary_tokens"]) for every, _ in groups]
    asked += [(own, chosen["finding_tokens"]) for _, by in groups for own in by.values()]
    every = [text for pairs in about for _, text in pairs]
    known = Sentences.of(every, embedder, Progress(quiet=True), among=crowded(asked))
    row_of = {text: row for row, text in enumerate(known.texts)}

    def told_by(texts: Sequence[str], most: int) -> str:
        return known.joined(known.central([row_of[text] for text in texts], most), most)

    made = []
    for row, (sentences, by) in enumerate(groups):
        members = told.members(row)
        title = ", ".join(told.names[node] for node in members[:3])
        blocks = [(title, told_by(sentences, chosen["summary_tokens"]))]
        for node in members[: chosen["findings"]]:
            if node in by:
                blocks.append((told.names[node], told_by(by[node], chosen["finding_tokens"])))
        made.append((title, report_text(blocks)))
    return made


def plain_tables(told: PlainTold, community: int, parts: Sequence[Part], budget: int) -> str:
    """The tables of a prompt as `report_tables` makes them; every row of each is written first."""
    nodes, rows = told.members(community), told.relationships(community)
    members = set(nodes)
    entities, relationships = _entities(told, nodes), _relationships(told, rows, members)
    half = budget // 2
    n_kept, m_kept = _fitting(entities, half), _fitting(relationships, half)
    reports: list[str] = []
    if parts and (n_kept < len(entities) or m_kept < len(relationships)):
        ordered = sorted(parts, key=lambda part: (-part.occurrence, part.text))
        lines = [
            _line(place, p.text, p.rating, round(p.occurrence, 3))
            for place, p in enumerate(ordered)
        ]
        reports = lines[: _fitting(lines, budget)]
        covered = {node for part in ordered[: len(reports)] for node in part.nodes.tolist()}
        ends = list(zip(told.graph.source.tolist(), told.graph.target.tolist(), strict=True))
        nodes = sorted(nodes, key=lambda node: node in covered)
        rows = sorted(rows, key=lambda row: set(ends[row]) <= covered)
        entities, relationships = _entities(told, nodes), _relationships(told, rows, members)
        half = max(budget - sum(map(count_tokens, reports)), 0) // 2
        n_kept, m_kept = _fitting(entities, half), _fitting(relationships, half)
    tables = {
        "Reports": ("id,report,rating,importance", reports),
        "Entities": ("id,entity,type,description,degree", entities[:n_kept]),
        "Relationships": ("id,source,target,description,rank", relationships[:m_kept]),
    }
    shown = (
        f"-----{name}-----\n{head}\n" + "\n".join(lines)
        for name, (head, lines) in tables.items()
        if lines
    )
    return "\n\n".join(shown)


def _entities(told: PlainTold, nodes: Sequence[int]) -> list[str]:
    types, descriptions = told.graph.types, told.graph.descriptions
    return [
        _line(
            position, told.names[node], types[node] if types else "",
            descriptions[node] if descriptions else "", told.degree[node],
        )
        for position, node in enumerate(nodes)
    ]  # fmt: skip


def _relationships(told: PlainTold, rows: Sequence[int], members: set[int]) -> list[str]:
    source, target = told.graph.source.tolist(), told.graph.target.tolist()
    return [
        _line(
            position, told.names[source[row]], told.names[target[row]], told.facts[row],
            told.rank(row, members),
        )
        for position, row in enumerate(rows)
    ]  # fmt: skip


def _line(*cells: object) -> str:
    held = io.StringIO()
    flat = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(held, lineterminator="").writerow(flat)
    return held.getvalue()


def _fitting(lines: Sequence[str], budget: int) -> int:
    return fit([count_tokens(line) + 1 for line in lines], budget)
