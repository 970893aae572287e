"""Community reports without a language model: the central sentences about the members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import incidence, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.offline.row_log import RowLog
from graphrag_bench.offline.sentences import Sentences, chunks_of, crowded, sentence_chunks
from graphrag_bench.offline.told import Told
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray, IntArray

_AT_ONCE = 500
"""Communities whose sentences are in memory at a time; their reports are written together."""


@artifact("reports.extractive")
def extractive(
    *,
    communities: Communities,
    graph: Graph,
    embedder: Embedder,
    progress: Progress,
    scratch: Path,
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
    extracts = _Extracts(
        Told(graph, communities), embedder, summary_tokens, finding_tokens, findings, max_sentences
    )
    order = by_family(communities.parent)
    written = RowLog(scratch / "reports", n_texts=3)
    with progress.task("writing reports", len(order)) as advance:
        advance(len(written))
        for start in range(len(written), len(order), _AT_ONCE):
            rows = order[start : start + _AT_ONCE]
            written.append(extracts.reports(rows.tolist()))
            advance(len(rows))
    places = np.argsort(order)
    titles, texts, read = (written.column(which, places) for which in range(3))
    chunks = incidence((map(int, row.split()) for row in read), graph.n_chunks)
    return Reports(titles, texts, coverage(communities), chunks=chunks)


def by_family(parent: IntArray) -> IntArray:
    """The rows of communities, those of one family together: one of level 0 and all within it.

    They share sentences. Families are in order of their level 0, rows as they are in a family.
    """
    root = np.where(parent < 0, np.arange(len(parent)), parent)
    for _ in range(len(root).bit_length()):
        root = root[root]
    return np.argsort(root, kind="stable")


@dataclass(frozen=True, eq=False)
class _Extracts:
    told: Told
    embedder: Embedder
    summary_tokens: int
    finding_tokens: int
    findings: int
    max_sentences: int

    @cached_property
    def _sentence_chunks(self) -> Mapping[str, set[int]]:
        graph = self.told.graph
        columns = [held for held in (graph.node_fragments, graph.fact_fragments) if held]
        return sentence_chunks(pair for fragments in columns for pair in fragments.pairs())

    def _chunks(self, row: int, text: str) -> str:
        held = self.told.communities.chunks
        own = set(row_ids(held, row).tolist())
        return " ".join(str(one) for one in chunks_of(text, self._sentence_chunks) if one in own)

    def reports(self, rows: Sequence[int]) -> list[tuple[str, str, str]]:
        about = [self.told.sentences(row, self.max_sentences) for row in rows]
        groups = [_by_member(pairs) for pairs in about]
        asked = [(every, self.summary_tokens) for every, _ in groups]
        asked += [(own, self.finding_tokens) for _, by in groups for own in by.values()]
        every = [text for part in about for _, text in part]
        quiet = Progress(quiet=True)
        known = Sentences.of(every, self.embedder, quiet, among=crowded(asked))
        row_of = {text: row for row, text in enumerate(known.texts)}

        def told_by(texts: Sequence[str], most: int) -> str:
            return known.joined(known.central([row_of[text] for text in texts], most), most)

        made = []
        for row, (sentences, members) in zip(rows, groups, strict=True):
            title = self.told.title(row)
            blocks = [(title, told_by(sentences, self.summary_tokens))]
            for node in self.told.members(row)[: self.findings].tolist():
                if node in members:
                    name = self.told.graph.names[node]
                    blocks.append((name, told_by(members[node], self.finding_tokens)))
            text = report_text(blocks)
            made.append((title, text, self._chunks(row, text)))
        return made


def _by_member(pairs: Sequence[tuple[int, str]]) -> tuple[list[str], dict[int, list[str]]]:
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
