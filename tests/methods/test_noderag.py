"""NodeRAG's search by hand, on six nodes."""

from dataclasses import replace

import pytest
from by_hand import ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.values import Mentions, NodeScores
from methods.noderag.heterogeneous_graph import phrase, quota, shallow

ADA, UNIT, TEXT, ATTRIBUTE, TITLE, ELEMENT = range(6)


@pytest.fixture
def graph() -> Graph:
    """Ada - unit - text, Ada - attribute, and a title with its element apart from them."""
    base = Graph.from_arrays(
        [ADA, UNIT, ADA, TITLE],
        [UNIT, TEXT, ATTRIBUTE, ELEMENT],
        names=["ada lovelace", "unit", "text", "attribute", "lovelace, babbage", "element"],
    )
    types = ["entity", "semantic unit", "text", "attribute", "title", "high-level element"]
    return replace(base, types=Texts.of(types))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lovelace", [ADA, TITLE]),
        ("Ada Lovelace", [ADA]),
        ("love", []),
        ("lovelace ada", []),
        ("attribute", []),
        ("...", []),
    ],
)
def test_a_name_is_found_as_whole_words_in_entities_and_titles(graph, name, expected):
    result = phrase(Mentions((name,)), graph=graph, types=("entity", "title"))
    assert result.ids.tolist() == expected


def test_at_each_step_half_of_the_mass_goes_on_through_all_types(graph):
    """Step 1: Ada 1/2, unit and attribute 1/4. Step 2: the unit sends 1/8 on, to Ada and text."""
    best, mass = shallow(ranked(ADA), graph=graph)
    expected = [1 / 4 + 1 / 16 + 1 / 8, 1 / 8 + 1 / 8, 1 / 16, 1 / 8 + 1 / 8, 0, 0]
    assert mass.values == pytest.approx(expected)
    assert best.ids.tolist() == [ADA, UNIT, ATTRIBUTE, TEXT]
    best, mass = shallow(ranked(ADA), graph=graph, types=("text",))
    assert best.ids.tolist() == [TEXT]
    assert mass.values.sum() == pytest.approx(1)


MASS = NodeScores([0.4, 0.3, 0.2, 0.0, 0.1, 0.0])


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({}, [UNIT, ATTRIBUTE, ELEMENT]),
        ({"n_others": 0}, [ATTRIBUTE, ELEMENT]),
        ({"n_entities": 0}, [UNIT, ELEMENT]),
        ({"n_titles": 0}, [UNIT, ATTRIBUTE]),
        ({"n_others": 0, "n_entities": 0, "n_titles": 0}, []),
    ],
)
def test_each_type_has_its_quota_of_entities_attributes_and_of_titles_elements(
    graph, settings, ids
):
    assert quota(MASS, graph=graph, **settings).ids.tolist() == ids
