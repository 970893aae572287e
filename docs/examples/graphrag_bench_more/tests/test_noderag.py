"""Tests of NodeRAG's graph and search, with results computed by hand."""

from dataclasses import replace

import pytest
from builds import QUIET, Lengths, described, ends, related, texts
from by_hand import ranked

from graphrag_bench.algorithms.extraction import EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.errors import UserError
from graphrag_bench.values import Mentions
from graphrag_bench_more.noderag.heterogeneous_graph import (
    heterogeneous,
    important_nodes,
    phrase,
    shallow,
)

LOVELACE, UNIT, TEXT, ATTRIBUTE, TITLE, ELEMENT = range(6)


@pytest.fixture
def graph() -> Graph:
    """Return a graph with the edges Ada - unit - text, Ada - attribute, and title - element."""
    base = Graph.from_arrays(
        [LOVELACE, UNIT, LOVELACE, TITLE],
        [UNIT, TEXT, ATTRIBUTE, ELEMENT],
        names=["ada lovelace", "unit", "text", "attribute", "lovelace, babbage", "element"],
    )
    types = ["entity", "semantic unit", "text", "attribute", "title", "high-level element"]
    return replace(base, types=Texts.of(types))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("lovelace", [LOVELACE, TITLE]), ("Ada Lovelace", [LOVELACE]), ("attribute", [])],
)
def test_a_name_is_found_as_whole_words_in_entities_and_titles(graph, name, expected):
    result = phrase(Mentions((name,)), graph=graph, types=("entity", "title"))
    assert result.ids.tolist() == expected


def test_half_of_the_mass_moves_at_each_step(graph):
    """Step 1: Ada 1/2, unit and attribute 1/4. Step 2: the unit sends 1/8 to Ada and the text."""
    best, mass = shallow(ranked(LOVELACE), graph=graph)
    expected = [1 / 4 + 1 / 16 + 1 / 8, 1 / 8 + 1 / 8, 1 / 16, 1 / 8 + 1 / 8, 0, 0]
    assert mass.values == pytest.approx(expected)
    assert best.ids.tolist() == [LOVELACE, UNIT, ATTRIBUTE, TEXT]
    best, mass = shallow(ranked(LOVELACE), graph=graph, types=("text",))
    assert best.ids.tolist() == [TEXT]
    assert mass.values.sum() == pytest.approx(1)


MET = "Ada met Bo."
ADA, BO = (EntityRecord(name, "person", MET) for name in ("Ada", "Bo"))
ROWS = [[ADA, BO, related("Ada", "Bo", MET)], [EntityRecord("Ada", "person", "Ada wrote.")]]


def graph_of(rows=ROWS, **settings) -> Graph:
    return heterogeneous(
        text_extraction=described(*rows), chunk_table=texts(len(rows)), embedder=Lengths(),
        progress=QUIET, **{"neighbours": 0, "llm_build": None, **settings},
    )  # fmt: skip


def test_nodes_are_joined_to_what_they_describe() -> None:
    met, wrote = "semantic unit: 0", "semantic unit: 1"
    of_ada, of_bo = "high-level element: 0", "high-level element: 1"
    graph = graph_of()
    assert {(graph.names[head], graph.names[tail]) for head, tail in ends(graph)} == {
        ("relationship: 0", "ada"), ("relationship: 0", "bo"), (met, "ada"), (met, "bo"),
        (wrote, "ada"), ("attribute: ada", "ada"), (of_ada, wrote), (of_ada, "attribute: ada"),
        (of_bo, met), ("title: ada", of_ada), ("title: bo", of_bo), (met, "text: 0"),
        (wrote, "text: 1"),
    }  # fmt: skip


def test_important_nodes_are_in_the_core_or_have_high_betweenness() -> None:
    """The path has no 2-core (1.61 * 1.26 = 2). Betweenness is 0, 3, 4, 3 and 0, with mean 2."""
    path = Graph.from_arrays([0, 1, 2, 3], [1, 2, 3, 4])
    assert important_nodes(path).tolist() == [False, True, True, True, False]


def test_records_without_descriptions_are_refused() -> None:
    with pytest.raises(UserError, match="no semantic unit"):
        graph_of([[EntityRecord("Ada")]])
