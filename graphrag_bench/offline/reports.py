"""Community reports without a language model: the central sentences about the members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.offline.community_contents import Contents
from graphrag_bench.offline.sentences import Sentences, chunks_of, crowded, sentence_chunks
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray


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
    contents = Contents(graph, communities)
    about = [contents.sentences(row, max_sentences) for row in range(len(communities))]
    by_member: list[dict[int, list[str]]] = [{} for _ in about]
    for pairs, texts_of in zip(about, by_member, strict=True):
        for member, text in pairs:
            texts_of.setdefault(member, []).append(text)
    wanted = [([text for _, text in pairs], summary_tokens) for pairs in about]
    wanted += [(own, finding_tokens) for texts_of in by_member for own in texts_of.values()]
    every = [text for pairs in about for _, text in pairs]
    known = Sentences.of(every, embedder, progress, among=crowded(wanted))
    titles = [contents.title(row) for row in range(len(communities))]
    texts = []
    for row, (pairs, texts_of) in enumerate(zip(about, by_member, strict=True)):
        blocks = [(titles[row], known.summary([text for _, text in pairs], summary_tokens))]
        blocks += [
            (contents.names[node], known.summary(texts_of[node], finding_tokens))
            for node in contents.members(row)[:findings]
            if node in texts_of
        ]
        texts.append(report_text(blocks))
    ratings, chunks = coverage(communities), _chunks(graph, communities, texts)
    return Reports(Texts.of(titles), Texts.of(texts), ratings, chunks=chunks)


def _chunks(graph: Graph, communities: Communities, texts: Sequence[str]) -> Any:
    """The chunks of a community of which a sentence stands in its report, as a bool CSR."""
    columns = [one for one in (graph.node_fragments, graph.fact_fragments) if one]
    known = sentence_chunks(pair for fragments in columns for pair in fragments.pairs())
    own = (row_ids(communities.chunks, row).tolist() for row in range(len(communities)))
    found = (set(chunks_of(text, known)) for text in texts)
    return incidence(map(set.intersection, found, map(set, own)), graph.n_chunks)


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
