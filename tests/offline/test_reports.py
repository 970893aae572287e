"""Reports on two triangles: extracted from their descriptions, and written by a planned model."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.errors import UserError
from graphrag_bench.graph.communities import Communities, Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.community_contents import Contents
from graphrag_bench.offline.llm_reports import llm_reports
from graphrag_bench.offline.report_tables import Part, report_tables
from graphrag_bench.offline.reports import coverage, extractive
from graphrag_bench.progress import Progress
from graphrag_bench.text import count_tokens

NAMES = ["ada", "bo", "cy", "dot", "eve", "fay"]
PLAIN = Graph.from_arrays(
    [0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], node_chunk=np.eye(6)[[0, 0, 0, 1, 2, 3]],
    names=NAMES,
)  # fmt: skip
"""Two triangles, joined by cy-dot; ada, bo and cy are in chunk 0, the others in one each."""
GRAPH = replace(
    PLAIN,
    types=Texts.of(["person"] * 6),
    descriptions=Texts.of(
        [f"{n.title()} keeps the north lamp. {n.title()} owns a red boat." for n in NAMES]
    ),
    facts=Texts.of([f"They met in year {row}." for row in range(7)]),
)


def communities(*rows: tuple[int, int, list[int]]) -> Communities:
    """Communities of (level, parent, members)."""
    from scipy.sparse import csr_matrix

    nodes = csr_matrix(np.array([np.isin(np.arange(6), members) for _, _, members in rows]))
    level, parent = (np.array([row[at] for row in rows]) for at in (0, 1))
    return Communities(level, parent, nodes, (nodes @ GRAPH.node_chunk).astype(bool).tocsr())


TWO = communities((0, -1, [0, 1, 2]), (0, -1, [3, 4, 5]))
NESTED = communities((0, -1, [0, 1, 2, 3, 4, 5]), (1, 0, [0, 1, 2]), (1, 0, [3, 4, 5]))


def extracted(graph: Graph = GRAPH, found: Communities = TWO, **settings) -> Reports:
    return extractive(
        communities=found,
        graph=graph,
        embedder=Hashing(64),
        progress=Progress(quiet=True),
        **settings,
    )


# ---- without a model


def test_the_title_names_the_most_connected_members_ties_by_name():
    """cy and dot have three neighbours, the others two."""
    assert list(extracted().titles) == ["cy, ada, bo", "dot, eve, fay"]


def test_the_report_is_a_title_a_summary_and_a_finding_for_each_key_member():
    blocks = extracted(findings=2).texts[0].split("\n\n")
    assert blocks[0] == "# cy, ada, bo"
    assert blocks[2] == "## cy"
    assert blocks[4] == "## ada"
    assert len(blocks) == 6
    assert blocks[3].startswith("Cy")


def test_summary_and_findings_keep_to_their_tokens():
    blocks = extracted(summary_tokens=8, finding_tokens=4).texts[0].split("\n\n")
    assert count_tokens(blocks[1]) <= 8
    assert all(count_tokens(block) <= 4 for block in blocks[3::2])


def test_every_sentence_is_of_a_member_or_of_a_relationship_inside():
    """Row 6, cy-dot, goes out of the community."""
    text = extracted(summary_tokens=1000).texts[0]
    assert "Dot" not in text
    assert "year 6" not in text


def test_a_graph_without_descriptions_is_told_by_its_relations():
    text = extracted(graph=PLAIN).texts[1]
    assert text.startswith("# dot, eve, fay\n\n")
    assert "related to" in text


def test_the_rating_is_half_occurrence_and_half_size():
    """Chunks 4, 1, 3, members 6, 3, 3: 5 * n / 4 + 5 * ln(1 + m) / ln 7; ln 4 / ln 7 = 0.7124."""
    assert coverage(NESTED).tolist() == [10.0, 4.8, 7.3]


def test_no_community_gives_no_report():
    from scipy.sparse import csr_matrix

    none = np.empty(0, np.int64)
    empty = csr_matrix((0, 6), dtype=bool)
    made = extracted(found=Communities(none, none, empty, csr_matrix((0, 4), dtype=bool)))
    assert len(made) == 0


# ---- the tables of a prompt


def rows_of(tables: str, name: str) -> list[str]:
    found = re.search(rf"-----{name}-----\n(.*?)(?:\n\n|$)", tables, re.DOTALL)
    return found.group(1).split("\n")[1:] if found else []


def test_entities_go_by_degree_and_relationships_by_rank_ties_by_name():
    """Ranks: ada-cy and bo-cy 5, ada-bo 4; of cy-dot, which leads out, cy alone counts: 3."""
    tables = report_tables(Contents(GRAPH, TWO), 0, [], 1000)
    assert [row.split(",")[1] for row in rows_of(tables, "Entities")] == ["cy", "ada", "bo"]
    ends = [row.split(",")[1:3] for row in rows_of(tables, "Relationships")]
    assert ends == [["ada", "cy"], ["bo", "cy"], ["ada", "bo"], ["cy", "dot"]]
    assert rows_of(tables, "Relationships")[-1] == "3,cy,dot,They met in year 6.,3"
    assert rows_of(tables, "Entities")[0].endswith(",3")


def test_reports_on_parts_are_there_only_when_something_was_cut():
    part = Part("# Ada's part", 8.0, 0.25, np.array([0, 1, 2]))
    whole = report_tables(Contents(GRAPH, NESTED), 0, [part], 2000)
    assert rows_of(whole, "Reports") == []
    assert len(rows_of(whole, "Entities")) == 6
    tight = report_tables(Contents(GRAPH, NESTED), 0, [part], 130)
    assert rows_of(tight, "Reports") == ["0,# Ada's part,8.0,0.25"]
    first = [row.split(",")[1] for row in rows_of(tight, "Entities")]
    assert first[:2] == ["dot", "eve"]  # not covered by the part's report
    assert rows_of(tight, "Relationships")[0].split(",")[1:3] == ["cy", "dot"]


def test_reports_on_parts_go_by_occurrence():
    parts = [
        Part("small", 8.0, 0.25, np.array([0, 1, 2])),
        Part("large", 2.0, 0.75, np.array([3, 4, 5])),
    ]
    tight = report_tables(Contents(GRAPH, NESTED), 0, parts, 80)
    assert [row.split(",")[1] for row in rows_of(tight, "Reports")] == ["large", "small"]


def test_a_budget_of_nothing_gives_no_table():
    assert report_tables(Contents(GRAPH, TWO), 0, [], 1) == ""


# ---- by a model


def reply(title: str, rating: float = 7.0, **other: object) -> str:
    held = {"title": title, "summary": "They met.", "rating": rating, "rating_explanation": "So."}
    return json.dumps({**held, "findings": [{"summary": "A", "explanation": "B."}], **other})


def by_model(model, found: Communities = TWO, **settings) -> Reports:
    return llm_reports(
        communities=found, graph=GRAPH, llm_build=model, progress=Progress(quiet=True), **settings
    )  # fmt: skip


def test_the_text_of_a_report_is_title_summary_and_findings_under_headings():
    made = by_model(Scripted([("ada,", reply("First")), ("eve,", reply("Second", 3))]))
    assert list(made.titles) == ["First", "Second"]
    assert made.texts[0] == "# First\n\nThey met.\n\n## A\n\nB."
    assert made.ratings.tolist() == [7.0, 3.0]
    assert made.statistics == {"communities": 2, "without_report": 0, "unreadable": 0}


def test_findings_that_are_plain_texts_become_headings_and_ratings_stay_within_ten():
    made = by_model(Scripted([("", reply("T", 99, findings=["Plain."]))]))
    assert made.texts[0] == "# T\n\nThey met.\n\n## Plain."
    assert made.ratings.tolist() == [10.0, 10.0]


def test_parts_are_reported_on_before_the_whole_and_enter_its_prompt_when_it_is_cut():
    model = Scripted([("-----Reports-----", reply("All")), ("ada", reply("X")), ("", reply("Y"))])
    made = by_model(model, NESTED, max_input_tokens=130)
    asked = [chat[-1].content for chat in model.asked]
    assert ["-----Reports-----" in text for text in asked] == [False, False, True]
    assert "# Y They met. ## A B." in asked[2]
    assert list(made.titles) == ["All", "X", "Y"]


def test_what_cannot_be_read_becomes_the_summary_rated_zero_and_flagged():
    model = Metered(Scripted([("ada,", "Just words."), ("eve,", reply("Fine")), ("", "Still no.")]))
    made = by_model(model)
    assert made.texts[0] == "# cy, ada, bo\n\nStill no."
    assert made.ratings.tolist() == [0.0, 7.0]
    assert made.fallback.tolist() == [True, False]
    assert made.statistics["unreadable"] == 1
    assert model.fallbacks == 1


def test_a_call_without_a_reply_leaves_the_community_without_a_report():
    made = by_model(Scripted([("ada,", CallFailed("refused", "no")), ("", reply("Fine"))]))
    assert list(made.texts)[0] == ""
    assert made.statistics["without_report"] == 1


def test_a_model_whose_replies_can_never_be_read_is_refused_with_step_rate_and_sample():
    with pytest.raises(UserError) as raised:
        by_model(Scripted([("", "Well, it depends.")]))
    said = str(raised.value)
    assert "Step 'write community reports': none of 2 replies (0%)" in said
    assert "Well, it depends." in said
    assert "build.reports=extractive" in said


def test_a_small_window_leaves_room_for_prompt_and_reply():
    model = Scripted([("", reply("T"))], window=600)
    by_model(model, window_share=0.2)
    for chat in model.asked:
        tables = chat[-1].content
        assert count_tokens(tables) <= 600 * 0.2 + 60  # headings and header lines beside the rows


def test_flags_are_kept_with_the_reports(tmp_path):
    model = Scripted([("ada,", reply("Fine")), ("", "No.")])
    made = by_model(model)
    made.save(tmp_path)
    again = Reports.load(tmp_path)
    assert again.fallback.tolist() == [False, True]
    assert list(again.texts) == list(made.texts)
