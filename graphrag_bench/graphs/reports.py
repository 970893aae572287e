"""Builders of community reports. A model writes them, or they consist of central sentences."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, PositiveInt, field_validator

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import FloatArray
from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graphs import sentences
from graphrag_bench.graphs.build_calls import require_any_success
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import Failure, ask_each, json_format, or_fallback
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

STEP = "write community reports"
SUMMARY_TOKENS = 150
FINDING_TOKENS = 80
FINDINGS = 5
MAX_SENTENCES = 20
WINDOW_SHARE = 0.6
MAX_INPUT_TOKENS = 12_000
"""Maximum number of tokens of the tables in a prompt. Source: Zhou et al. 2025, code 4e87938."""
REPORT = Prompt("graphrag_bench.graphs:prompts/community_report.j2")
_UNKNOWN_WINDOW = 8192
_RESERVE = 64
_AT_ONCE = 500
"""Number of prompts that are kept in memory at a time. They take at most 24 MB."""
_HEADS = {
    "Reports": "id,report,rating,importance",
    "Entities": "id,entity,type,description,degree",
    "Relationships": "id,source,target,description,rank",
}


@artifact("reports.extractive")
def extractive(
    *, communities: Communities, graph: Graph, embedder: Embedder, progress: Progress
) -> Reports:
    """Make a report of each community from the most central sentences about its members.

    The title lists the three members with the most neighbours. At most 20 candidate sentences come
    from the descriptions of members (most neighbours first) and of relationships between members.
    The default description of a relationship is "head relation tail". The summary consists of the
    most central candidates, up to 150 tokens. Each of the five members with the most neighbours
    gets a finding, which consists of the most central candidates about it, up to 80 tokens. The
    rating (0..10) of a community is `5 * c + 5 * m`, where c is its number of chunks and m is the
    logarithm of 1 plus its number of members, both divided by their maxima over all communities.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5; Erkan and Radev 2004.
    Deviation: no model writes and rates the reports. For such reports, use `reports.llm`.
    """
    contents = Contents(graph, communities)
    headings: list[list[str]] = []
    groups: list[tuple[list[str], int]] = []
    for row in range(len(communities)):
        by_member = defaultdict[int, list[str]](list)
        about = contents.sentences(row, MAX_SENTENCES)
        for member, text in about:
            by_member[member].append(text)
        shown = [node for node in contents.members(row)[:FINDINGS] if node in by_member]
        headings.append([contents.title(row), *(contents.names[node] for node in shown)])
        groups.append(([text for _, text in about], SUMMARY_TOKENS))
        groups += [(by_member[node], FINDING_TOKENS) for node in shown]
    summaries = iter(sentences.central_texts(groups, embedder, progress))
    reports = [report_text([(one, next(summaries)) for one in some]) for some in headings]
    fragments = [one for one in (graph.node_fragments, graph.fact_fragments) if one]
    known = sentences.sentence_chunks(pair for one in fragments for pair in one.pairs())
    quoted = [
        set(row_ids(communities.chunks, row)).intersection(sentences.chunks_of(text, known))
        for row, text in enumerate(reports)
    ]
    return Reports(
        Texts.of([title for title, *_ in headings]), Texts.of(reports), coverage(communities),
        chunks=incidence(quoted, graph.n_chunks),
    )  # fmt: skip


def report_text(blocks: Sequence[tuple[str, str]]) -> str:
    """Return a report as one text, given the heading and the text of each section."""
    sections = (part for heading, text in blocks for part in (f"## {heading}", text))
    return "\n\n".join(filter(None, sections)).removeprefix("#")


def coverage(communities: Communities) -> FloatArray:
    """Rate how much of the corpus each community covers, in 0..10 with one decimal."""
    sizes = np.log1p(np.diff(communities.nodes.indptr).astype(np.float64))
    sizes = sizes / max(sizes.max(initial=0.0), 1.0)
    return np.asarray(np.round(5.0 * communities.occurrence + 5.0 * sizes, 1), np.float64)


class Finding(BaseModel):
    """Finding of a community report."""

    summary: str
    explanation: str = ""


def _finding(value: object) -> object:
    return {"summary": value} if isinstance(value, str) else value


class Report(BaseModel):
    """The model's reply to the report prompt. A finding may also be a plain text."""

    title: str
    summary: str
    rating: float
    rating_explanation: str = ""
    findings: list[Annotated[Finding, BeforeValidator(_finding)]] = []

    @field_validator("rating")
    @classmethod
    def _within_ten(cls, value: float) -> float:
        return min(max(value, 0.0), 10.0) if np.isfinite(value) else 0.0


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    """Assume that there is one community for each 400 tokens."""
    return max(round(sizes.n_chunks * sizes.chunk / 400), 1)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    template = template_tokens(settings["report_prompt"])
    budget = min(WINDOW_SHARE * _UNKNOWN_WINDOW, MAX_INPUT_TOKENS)
    return template + budget / 3, settings["max_tokens"] / 2


@artifact("reports.llm", calls=_calls, tokens=_tokens)
def llm_reports(
    *,
    communities: Communities,
    graph: Graph,
    llm_build: ChatModel,
    progress: Progress,
    report_prompt: Prompt = REPORT,
    max_tokens: PositiveInt = 1500,
) -> Reports:
    """Write a report of each community with the build model, in one call for each community.

    The prompt has tables of the members of the community and of their relationships. The tables
    have at most 12,000 tokens, and at most 0.6 of the model's context window. An unknown window is
    assumed to have 8,192 tokens. Small communities come first, so that their reports can replace
    rows in the prompts of larger communities that contain them. If the corpus changes, unchanged
    communities keep their cached replies. A reply that cannot be parsed after a second call becomes
    the summary of a report with rating 0, which is marked in `fallback`. If a call fails, there is
    no report. Both cases are counted. Raises UserError if all replies are unusable.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5; Zhou et al. 2025, section 5.
    """
    window = llm_build.window or _UNKNOWN_WINDOW
    budget = min(int(window * WINDOW_SHARE), MAX_INPUT_TOKENS)
    rest = window - budget - count_tokens(report_prompt.text) - _RESERVE
    max_tokens = max(min(max_tokens, rest), 1)
    contents, n = Contents(graph, communities), len(communities)
    titles, texts, ratings = [""] * n, [""] * n, np.zeros(n)
    failures: dict[int, Failure] = {}
    with progress.task(STEP, n) as advance:
        for rows in _batches(communities):
            tables = [report_tables(contents, row, texts, ratings, budget) for row in rows]
            results = ask_each(
                llm_build, [report_prompt.render({"tables": shown}) for shown in tables],
                json_format(Report, STEP), max_tokens=max_tokens,
                items=[f"community {row}" for row in rows], advance=advance,
            )  # fmt: skip
            for row, result in zip(rows, results, strict=True):
                if isinstance(result, Failure):
                    failures[row] = result
                    reply = result.reply.strip() if isinstance(result, UnreadableReply) else ""
                    stand_in = Report(title=contents.title(row), summary=reply, rating=0.0)
                    result = or_fallback(llm_build, result, stand_in)
                titles[row], ratings[row] = result.title, result.rating
                findings = [(one.summary, one.explanation) for one in result.findings]
                text = report_text([(result.title, result.summary), *findings])
                texts[row] = text if result.summary else ""
    require_any_success(
        STEP, list(failures.values()), n,
        "The model may be too small to write JSON, or its context window may be too short for "
        "the prompt. To write reports without a model, set build.reports=extractive.",
    )  # fmt: skip
    if failures:
        progress.say(f"{STEP}: {len(failures)} of {n} replies could not be read.")
    failed = np.isin(np.arange(n), list(failures))
    return Reports(Texts.of(titles), Texts.of(texts), ratings, failed)


def _batches(communities: Communities) -> Iterator[list[int]]:
    for level in range(communities.level.max(initial=-1), -1, -1):
        rows = np.flatnonzero(communities.level == level).tolist()
        yield from (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))


class Contents:
    """Members, relationships and texts of communities. Empty facts become "head relation tail"."""

    def __init__(self, graph: Graph, communities: Communities) -> None:
        self.graph, self.communities = graph, communities
        self.names = list(graph.names)
        self.descriptions = list(graph.descriptions or [""] * graph.n_nodes)
        self.degree: list[int] = graph.degree.tolist()
        self.ends = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
        self.relations = list(graph.relations)
        self.facts = list(graph.facts or [""] * graph.n_relationships)
        for row, (head, tail) in enumerate(self.ends):
            triple = f"{self.names[head]} {self.relations[row]} {self.names[tail]}"
            self.facts[row] = self.facts[row] or " ".join(triple.split())
        self.parts = defaultdict[int, list[int]](list)  # child communities
        for row, parent in enumerate(communities.parent.tolist()):
            self.parts[parent].append(row)

    def members(self, community: int) -> list[int]:
        """Return the nodes of a community, sorted by descending degree and then by name."""
        members = row_ids(self.communities.nodes, community).tolist()
        return sorted(members, key=lambda node: (-self.degree[node], self.names[node]))

    def relationships(self, community: int) -> list[int]:
        """Return the relationships of a community's members by descending rank and then by text."""
        nodes = row_ids(self.communities.nodes, community)
        members = set(nodes.tolist())

        def place(row: int) -> tuple[object, ...]:
            head, tail = (self.names[end] for end in self.ends[row])
            return -self.rank(row, members), head, tail, self.facts[row], self.relations[row], row

        return sorted(self.graph.relationships_at(nodes).tolist(), key=place)

    def rank(self, row: int, members: set[int]) -> int:
        """Return the rank of a relationship: the total degree of its nodes that are `members`."""
        return sum(self.degree[end] for end in self.ends[row] if end in members)

    def title(self, community: int) -> str:
        """Return the names of the three members with the most neighbours, joined by commas."""
        return ", ".join(self.names[node] for node in self.members(community)[:3])

    def sentences(self, community: int, most: int) -> list[tuple[int, str]]:
        """Return at most `most` sentences about a community, as pairs (member, sentence).

        Each round adds the next sentence about every member, and then one about a relationship.
        """
        members, split = self.members(community), sentences.split_sentences
        described = [
            [(member, text) for text in split(self.descriptions[member])][:most]
            for member in members[:most]
        ]
        inside, rows = set(members), self.relationships(community)
        inner = (row for row in rows if inside.issuperset(self.ends[row]))
        stated = ((self.ends[row][0], text) for row in inner for text in split(self.facts[row]))
        turns = zip_longest(*described, islice(stated, most))
        return list(dict.fromkeys(pair for turn in turns for pair in turn if pair))[:most]


def report_tables(
    contents: Contents, community: int, texts: Sequence[str], ratings: FloatArray, budget: int
) -> str:
    """Return the tables of entities and relationships for the prompt that asks for a report.

    Each of the two tables gets half of the token budget, and has only whole rows. If some rows do
    not fit, a third table has as many reports of child communities as fit the budget. The first two
    tables then share the rest of the budget, and their rows about these child communities come
    last. Reports are sorted by importance, i.e. by the fraction of the parent's chunks that the
    child community has. `texts` and `ratings` are the reports of all communities.
    Source: GraphRAG (Edge et al. 2024), section 3.1.5; nano-graphrag.
    Deviation: nano-graphrag numbers reports by community. Its importance is relative to the
    community with the most chunks. Its ranks also count the degrees of nodes outside the community.
    """
    nodes, rows = contents.members(community), contents.relationships(community)
    members, types = set(nodes), contents.graph.types

    def tables(room: int) -> tuple[list[str], list[str]]:
        entities = (
            (place, contents.names[node], types[node] if types else "",
             contents.descriptions[node], contents.degree[node])
            for place, node in enumerate(nodes)
        )  # fmt: skip
        relationships = (
            (place, *(contents.names[end] for end in contents.ends[row]),
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
            (place, texts[part], float(ratings[part]), round(float(share[part]), 3))
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


def _fitting(rows: Iterable[Sequence[object]], budget: int) -> list[str]:
    """Return the first rows that fit the budget, each as a line of CSV."""
    fitting: list[str] = []
    for row in rows:
        cells = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in row]
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(cells)
        budget -= count_tokens(line.getvalue()) + 1
        if budget < 0:
            break
        fitting.append(line.getvalue())
    return fitting
