"""Communities by hierarchical Leiden, and extracted and written reports on them."""

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from builds import QUIET, chunks_of
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.graphs import reports
from graphrag_bench.graphs.communities import communities_of, leiden, split_by_leiden
from graphrag_bench.graphs.reports import Contents, coverage, extractive, llm_reports, report_tables
from graphrag_bench.llm.calls import CallFailed
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


TRIANGLES = [0, 1, 2], [3, 4, 5]
TWO = communities_of([(0, -1, part) for part in TRIANGLES], GRAPH)
NESTED = communities_of([(0, -1, range(6)), *((1, 0, part) for part in TRIANGLES)], GRAPH)


def test_communities_follow_weights_and_leave_out_isolated_nodes():
    for edges, weight, n_nodes, expected in (
        ([(0, 1), (2, 3), (3, 4), (2, 4)], None, 5, [[0, 1], [2, 3, 4]]),
        ([(0, 1), (1, 2), (2, 3)], [9.0, 1.0, 9.0], 4, [[0, 1], [2, 3]]),
        ([(0, 1), (2, 3), (4, 4)], [1.0, 0.0, 1.0], 6, [[0, 1]]),
        *(([], None, n_nodes, []) for n_nodes in (0, 1, 3)),
    ):
        source, target = zip(*edges, strict=True) if edges else ((), ())
        result = leiden(graph=Graph.from_arrays(source, target, weight=weight, n_nodes=n_nodes))
        assert chunks_of(result.nodes) == expected
        assert result.nodes.shape == (len(expected), n_nodes)
        assert not result.level.any() and (result.parent == -1).all()


def test_a_community_that_is_too_large_is_split_one_level_down():
    """Four triangles in a row, fifteen edges, at resolution 0.3.

    In twos 14/15 - 0.3 * 2/4 = 0.78, each by itself about 12/15 - 0.3 * 4/16 = 0.73, all 0.7: twos.
    Within a two, of seven edges, 6/7 - 0.3 * 2/4 = 0.707 against 0.7 for all: it falls apart.
    """
    triangles = [pair for at in (0, 3, 6, 9) for pair in combinations(range(at, at + 3), 2)]
    graph = Graph.from_arrays(*zip(*triangles, (2, 3), (5, 6), (8, 9), strict=True))
    result = split_by_leiden(graph, 0xDEADBEEF, 5, 0.3)
    halves = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert chunks_of(result.nodes) == [*halves, [0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert result.level.tolist() == [0, 0, 1, 1, 1, 1]
    assert result.parent.tolist() == [-1, -1, 0, 0, 1, 1]


def test_the_chunks_of_a_community_are_those_of_its_members():
    result = leiden(graph=PLAIN)
    assert chunks_of(result.nodes) == [*TRIANGLES]
    assert chunks_of(result.chunks) == [[0], [1, 2, 3]]
    assert result.occurrence.tolist() == [1 / 3, 1.0]
    weighted = replace(PLAIN, node_chunk=csr_matrix(3 * PLAIN.node_chunk.astype(np.int64)))
    assert (leiden(graph=weighted).chunks != result.chunks).nnz == 0


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


def by_model(model, parts=TWO, graph=GRAPH):
    return llm_reports(communities=parts, graph=graph, llm_build=model, progress=QUIET)


def test_a_written_report_has_title_summary_and_findings_under_headings():
    replies = [("ada,", written_reply("First")), ("", written_reply("T", 99, findings=["Plain."]))]
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


def world(names, rows):
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


def report(chat):
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
