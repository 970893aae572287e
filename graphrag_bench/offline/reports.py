"""Community reports without a language model: the central sentences about the members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.offline.sentences import Sentences, crowded, split_sentences
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray, IntArray

_IN_TITLE = 3


@artifact("reports.extractive")
def extractive(
    *,
    communities: Communities,
    graph: Graph,
    embedder: Embedder,
    progress: Progress,
    summary_tokens: PositiveInt = 150,
    finding_tokens: PositiveInt = 80,
    findings: PositiveInt = 5,
    max_sentences: PositiveInt = 20,
) -> Reports:
    """One report for each community: title, central sentences, and one finding for each key member.

    The title is the three most connected members. Sentences are those of the members' descriptions
    and of the relationships within the community, most connected first, `max_sentences` at most;
    names and relations are used where the graph has no descriptions. The summary is the central
    ones up to `summary_tokens`, a finding the central ones about one of the `findings` most
    connected members. The rating is 5 times the occurrence (chunks of the community by the largest
    number) plus 5 times ln(1 + members) by the largest: 0..10, how much of the corpus it covers,
    where a language model would judge impact.
    Source: the layout of reports, GraphRAG (Edge et al. 2024), section 3.1.5; sentences by
    centrality (Erkan and Radev 2004).
    Deviation: extracted, not written; `reports.llm` writes them.
    """
    told = Told(graph, communities)
    with progress.task("collecting sentences", len(communities)) as advance:
        about = []
        for row in range(len(communities)):
            about.append(told.sentences(row, max_sentences))
            advance(1)
    groups = [(row, _by_member(pairs)) for row, pairs in enumerate(about)]
    asked = [(every, summary_tokens) for _, (every, _) in groups]
    asked += [(own, finding_tokens) for _, (_, members) in groups for own in members.values()]
    every = (text for part in about for _, text in part)
    known = Sentences.of(every, embedder, progress, among=crowded(asked))
    row_of = {text: row for row, text in enumerate(known.texts)}

    def told_by(texts: Sequence[str], max_tokens: int) -> str:
        return known.joined(known.central([row_of[text] for text in texts], max_tokens), max_tokens)

    titles, reports = [], []
    for row, (sentences, members) in groups:
        blocks = [(told.title(row), told_by(sentences, summary_tokens))]
        key = [node for node in told.members(row)[:findings] if node in members]
        blocks += [(told.names[node], told_by(members[node], finding_tokens)) for node in key]
        titles.append(told.title(row))
        reports.append(report_text(blocks))
    return Reports(Texts.of(titles), Texts.of(reports), coverage(communities))


def _by_member(pairs: Sequence[tuple[int, str]]) -> tuple[list[str], dict[int, list[str]]]:
    """All sentences, and those about each member."""
    members: dict[int, list[str]] = {}
    for member, text in pairs:
        members.setdefault(member, []).append(text)
    return [text for _, text in pairs], members


def report_text(blocks: Sequence[tuple[str, str]]) -> str:
    """The title and summary, then every finding, as headings and texts apart by blank lines."""
    lines = []
    for number, (heading, text) in enumerate(blocks):
        lines.append(f"{'##' if number else '#'} {heading}")
        lines.append(text)
    return "\n\n".join(line for line in lines if line)


def coverage(communities: Communities) -> FloatArray:
    """A rating without a judge, float64 (n,) in 0..10, one decimal: occurrence and size."""
    sizes = np.log1p(np.diff(communities.nodes.indptr).astype(np.float64))
    sizes = sizes / max(sizes.max(initial=0.0), 1.0)
    return np.asarray(np.round(5.0 * communities.occurrence + 5.0 * sizes, 1), np.float64)


@dataclass(frozen=True, eq=False)
class Told:
    """What a graph tells of its communities."""

    graph: Graph
    communities: Communities

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the nodes."""
        return list(self.graph.names)

    @cached_property
    def descriptions(self) -> Sequence[str]:
        """The descriptions of the nodes, "" where there is none."""
        return list(self.graph.descriptions or [""] * self.graph.n_nodes)

    @cached_property
    def facts(self) -> Sequence[str]:
        """What each relationship row says: its description, or its names and relation."""
        graph = self.graph
        described = list(graph.facts or [""] * graph.n_relationships)
        ends = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
        plain = (f"{self.names[head]} {name} {self.names[tail]}" for head, name, tail in ends)
        return [
            text or " ".join(other.split()) for text, other in zip(described, plain, strict=True)
        ]

    @cached_property
    def rank(self) -> IntArray:
        """The degrees of both ends of each relationship row together, int64 (n_relationships,)."""
        degree = self.graph.degree
        return np.asarray(degree[self.graph.source] + degree[self.graph.target], np.int64)

    @cached_property
    def _incident(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        ends = zip(self.graph.source.tolist(), self.graph.target.tolist(), strict=True)
        for row, pair in enumerate(ends):
            for node in dict.fromkeys(pair):
                found.setdefault(node, []).append(row)
        return found

    def members(self, community: int) -> list[int]:
        """The nodes of a community, the highest degree first, ties by name."""
        members = row_ids(self.communities.nodes, community).tolist()
        degree = self.graph.degree
        return sorted(members, key=lambda node: (-int(degree[node]), self.names[node]))

    def relationships(self, community: int) -> list[int]:
        """The rows with an end in a community, the highest rank first, ties by names and row."""
        rows = {row for node in self.members(community) for row in self._incident.get(node, ())}
        return sorted(rows, key=self._place)

    def _place(self, row: int) -> tuple[int, str, str, int]:
        head, tail = int(self.graph.source[row]), int(self.graph.target[row])
        return -int(self.rank[row]), self.names[head], self.names[tail], row

    def title(self, community: int) -> str:
        """The names of the three most connected members."""
        return ", ".join(self.names[node] for node in self.members(community)[:_IN_TITLE])

    def sentences(self, community: int, most: int) -> list[tuple[int, str]]:
        """Member and sentence, at most `most`, for each member in turn one sentence.

        Where nothing is described, what the relationships say.
        """
        members = self.members(community)
        inside = set(members)
        told: list[list[tuple[int, str]]] = []
        for member in members[:most]:
            own = [(member, text) for text in split_sentences(self.descriptions[member])]
            told.append(own[:most])
        told.append(list(self._inner_facts(self.relationships(community), inside, most)))
        return _in_turn(told, most)

    def _inner_facts(
        self, rows: Sequence[int], inside: set[int], most: int
    ) -> Iterable[tuple[int, str]]:
        n_left = most
        for row in rows:
            head, tail = int(self.graph.source[row]), int(self.graph.target[row])
            if head in inside and tail in inside and self.facts[row]:
                for text in split_sentences(self.facts[row])[:n_left]:
                    yield head, text
                    n_left -= 1
            if n_left <= 0:
                return


def _in_turn(lists: Sequence[Sequence[tuple[int, str]]], most: int) -> list[tuple[int, str]]:
    """The first of each list, then the second of each, until there are `most` distinct ones."""
    turns = (pair for turn in zip_longest(*lists) for pair in turn if pair is not None)
    return list(dict.fromkeys(turns))[:most]
