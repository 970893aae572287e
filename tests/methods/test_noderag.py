"""NodeRAG's search by hand, on six nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import Mentions, NodeScores, Ranked
from methods.noderag.search import phrase, quota, shallow

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


def at(*nodes: int) -> Ranked:
    return Ranked(np.array(nodes, np.int64), np.ones(len(nodes)))


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
    found = phrase(Mentions((name,)), graph=graph, types=("entity", "title"))
    assert found.ids.tolist() == expected


def test_at_each_step_half_of_the_mass_goes_on_and_half_stays(graph):
    """Step 1: Ada 1/2, unit and attribute 1/4. Step 2: the unit sends 1/8 on, to Ada and text."""
    best, mass = shallow(at(ADA), graph=graph)
    expected = [1 / 4 + 1 / 16 + 1 / 8, 1 / 8 + 1 / 8, 1 / 16, 1 / 8 + 1 / 8, 0, 0]
    assert mass.values == pytest.approx(expected)
    assert best.ids.tolist() == [ADA, UNIT, ATTRIBUTE, TEXT]


def test_one_step_reaches_neighbours_alone(graph):
    best, _ = shallow(at(ADA), graph=graph, n_steps=1)
    assert best.ids.tolist() == [ADA, UNIT, ATTRIBUTE]


def test_entry_points_start_alike_however_often_and_well_they_were_found(graph):
    twice = Ranked(np.array([ADA, TITLE, ADA]), np.array([0.1, 0.9, 0.5]))
    _, mass = shallow(twice, graph=graph, damping=0.0)
    assert mass.values.tolist() == [0.5, 0, 0, 0, 0.5, 0]


def test_mass_follows_the_weights(graph):
    heavy = replace(graph, weight=np.array([3.0, 1.0, 1.0, 1.0]))
    _, mass = shallow(at(ADA), graph=heavy, n_steps=1, damping=1.0)
    assert mass.values.tolist() == [0, 0.75, 0, 0.25, 0, 0]


def test_a_node_joined_to_nothing_keeps_its_mass(graph):
    apart = Graph.from_arrays([0], [1], n_nodes=3)
    _, mass = shallow(at(2), graph=apart)
    assert mass.values.tolist() == [0, 0, 1]


def test_with_types_only_these_are_ranked_and_the_walk_passes_through_all(graph):
    best, mass = shallow(at(ADA), graph=graph, types=("text",))
    assert best.ids.tolist() == [TEXT]
    assert mass.values.sum() == pytest.approx(1)


MASS = NodeScores([0.4, 0.3, 0.2, 0.0, 0.1, 0.0])


def test_entities_bring_their_attributes_and_titles_their_elements(graph):
    assert quota(MASS, graph=graph).ids.tolist() == [UNIT, ATTRIBUTE, ELEMENT]


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"n_others": 0}, [ATTRIBUTE, ELEMENT]),
        ({"n_entities": 0}, [UNIT, ELEMENT]),
        ({"n_titles": 0}, [UNIT, ATTRIBUTE]),
        ({"n_others": 0, "n_entities": 0, "n_titles": 0}, []),
    ],
)
def test_each_type_has_its_quota(graph, settings, left):
    assert quota(MASS, graph=graph, **settings).ids.tolist() == left


def test_a_type_that_no_node_has_is_named(graph):
    with pytest.raises(UserError, match="tilte"):
        phrase(Mentions(("ada",)), graph=graph, types=("tilte",))
