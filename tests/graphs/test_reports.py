"""Extracted and written reports on two triangles of nodes."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.graphs import reports
from graphrag_bench.graphs.communities import communities_of
from graphrag_bench.graphs.reports import Contents, coverage, extractive, llm_reports, report_tables
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.scripted import Scripted

NAMES = ["ada", "bo", "cy", "dot", "eve", "fay"]
PLAIN = Graph.from_arrays(
    [0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], node_chunk=np.eye(6)[[0, 0, 0, 1, 2, 3]],
    names=NAMES,
)  # fmt: skip
"""Two triangles, joined by cy-dot; ada, bo and cy are in chunk 0, the others in one each."""
KEEP = [f"{n.title()} keeps the north lamp. {n.title()} owns a red boat." for n in NAMES]
GRAPH = replace(
    PLAIN, types=Texts.of(["person"] * 6), descriptions=Texts.of(KEEP),
    facts=Texts.of([f"They met in year {row}." for row in range(7)]),
)  # fmt: skip


def communities(*rows: tuple[int, int, list[int]]) -> Communities:
    return communities_of(rows, GRAPH)


TWO = communities((0, -1, [0, 1, 2]), (0, -1, [3, 4, 5]))
NESTED = communities((0, -1, [0, 1, 2, 3, 4, 5]), (1, 0, [0, 1, 2]), (1, 0, [3, 4, 5]))


def test_a_report_has_a_title_a_summary_and_a_finding_for_each_key_member(monkeypatch):
    """cy and dot have three neighbours, the others two."""
    monkeypatch.setattr(reports, "FINDINGS", 2)
    result = extractive(communities=TWO, graph=GRAPH, embedder=Hashing(64), progress=QUIET)
    assert list(result.titles) == ["cy, ada, bo", "dot, eve, fay"]
    blocks = result.texts[0].split("\n\n")
    assert (blocks[0], blocks[2], blocks[4], len(blocks)) == ("# cy, ada, bo", "## cy", "## ada", 6)
    assert blocks[3].startswith("Cy")
    # chunks 4, 1, 3, members 6, 3, 3: 5 * n / 4 + 5 * ln(1 + m) / ln 7; ln 4 / ln 7 = 0.7124
    assert coverage(NESTED).tolist() == [10.0, 4.8, 7.3]


def rows_of(tables: str, name: str) -> list[str]:
    result = re.search(rf"-----{name}-----\n(.*?)(?:\n\n|$)", tables, re.DOTALL)
    return result.group(1).split("\n")[1:] if result else []


def test_tables_sort_entities_by_degree_and_relationships_by_rank():
    """Ranks: ada-cy and bo-cy 5, ada-bo 4, and cy-dot 3, as dot is outside."""
    tables = report_tables(Contents(GRAPH, TWO), 0, [""] * 2, np.zeros(2), 1000)
    assert [row.split(",")[1] for row in rows_of(tables, "Entities")] == ["cy", "ada", "bo"]
    ends = [row.split(",")[1:3] for row in rows_of(tables, "Relationships")]
    assert ends == [["ada", "cy"], ["bo", "cy"], ["ada", "bo"], ["cy", "dot"]]
    assert rows_of(tables, "Relationships")[-1] == "3,cy,dot,They met in year 6.,3"


def test_reports_on_parts_are_included_when_rows_are_cut():
    """The parts have 1 and 3 of the 4 chunks of the community."""
    contents, ratings = Contents(GRAPH, NESTED), np.array([0.0, 8.0, 2.0])

    def tables(budget: int, *texts: str) -> str:
        return report_tables(contents, 0, ["", *texts], ratings, budget)

    whole = tables(2000, "# Ada's part", "")
    assert rows_of(whole, "Reports") == []
    assert len(rows_of(whole, "Entities")) == 6
    tight = tables(130, "# Ada's part", "")
    assert rows_of(tight, "Reports") == ["0,# Ada's part,8.0,0.25"]
    first = [row.split(",")[1] for row in rows_of(tight, "Entities")]
    assert first[:2] == ["dot", "eve"]  # not covered by the part's report
    assert rows_of(tight, "Relationships")[0].split(",")[1:3] == ["cy", "dot"]
    both = rows_of(tables(80, "# Ada's part", "large"), "Reports")
    assert [row.split(",")[1] for row in both] == ["large", "# Ada's part"]


def written_reply(title: str, rating: float = 7.0, **other: object) -> str:
    stored = {"title": title, "summary": "They met.", "rating": rating, "rating_explanation": "So."}
    return json.dumps({**stored, "findings": [{"summary": "A", "explanation": "B."}], **other})


def by_model(model: Scripted, parts: Communities = TWO, graph: Graph = GRAPH) -> Reports:
    return llm_reports(communities=parts, graph=graph, llm_build=model, progress=QUIET)


def test_a_written_report_has_title_summary_and_findings_under_headings():
    replies = [("ada,", written_reply("First")),
               ("", written_reply("T", 99, findings=["Plain."]))]  # fmt: skip
    result = by_model(Scripted(replies))
    assert list(result.titles) == ["First", "T"]
    first, second = result.texts
    assert first == "# First\n\nThey met.\n\n## A\n\nB."
    assert second == "# T\n\nThey met.\n\n## Plain."
    assert result.ratings.tolist() == [7.0, 10.0]
    assert result.statistics == {"communities": 2, "without_report": 0, "unreadable": 0}


def test_an_unreadable_reply_becomes_a_flagged_summary_rated_zero():
    model = Scripted([("ada,", "Just words."), ("eve,", written_reply("Fine")), ("", "Still no.")])
    result = by_model(model)
    assert result.texts[0] == "# cy, ada, bo\n\nStill no."
    assert (result.ratings.tolist(), result.fallback.tolist()) == ([0.0, 7.0], [True, False])
    assert (result.statistics["unreadable"], model.meter.fallbacks) == (1, 1)
    silent = by_model(Scripted([("ada,", CallFailed("refused", "no")), ("", written_reply("F"))]))
    assert (silent.texts[0], silent.statistics["without_report"]) == ("", 1)


ROWS = ["ab", "ac", "bc", "de", "df", "ef", "cd", "cb", "ax"]
"""Two triangles in one community; b and c are joined by two rows, and a to x outside."""


def world(names: str, rows: Sequence[str]) -> tuple[Graph, Communities]:
    heads, tails = ([names.index(pair[end]) for pair in rows] for end in (0, 1))
    graph = replace(
        Graph.from_arrays(heads, tails, np.eye(len(names)), names=list(names)),
        types=Texts.of(["person"] * len(names)),
        descriptions=Texts.of([f"{name} keeps lamp {name}. It burns." for name in names]),
        facts=Texts.of([f"{pair[0]} wrote to {pair[1]} of {pair}." for pair in rows]),
    )
    whole, others, *halves = (
        [row for row, name in enumerate(names) if name in part]
        for part in ("abcdef", "xyz", "abc", "def")
    )
    parts = [(0, -1, whole), (0, -1, others), *((1, 0, half) for half in sorted(halves))]
    return graph, communities_of(parts, graph)


def report(chat: Chat) -> str:
    """Return a report that depends on its prompt alone."""
    return written_reply(f"of {len(chat[-1].content)}", summary=chat[-1].content[:40], findings=[])


@pytest.mark.parametrize("budget", [60, 140, 4000])
def test_a_report_prompt_depends_on_the_members_alone(monkeypatch, budget):
    """Two new nodes are joined to x, and rows have other numbers. Small budgets use reports."""
    monkeypatch.setattr(reports, "MAX_INPUT_TOKENS", budget)
    prompts = []
    after = world("zyxfedcba", [*ROWS[::-1], "xy", "xz", "yz"])
    for graph, parts in (world("abcdefx", ROWS), after):
        model = Scripted(answer=report)
        by_model(model, parts, graph)
        prompts.append({chat[-1].content for chat in model.prompts})
    assert (len(prompts[0]), len(prompts[0] & prompts[1])) == (4, 3)  # all but the one on x
    assert any("-----Reports-----" in text for text in prompts[0]) == (budget < 4000)
