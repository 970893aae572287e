"""Relationship operators, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import NodeScores
from operators.relationship import aggregator


@pytest.fixture
def path():
    """0 - 1 - 2."""
    return Graph.from_arrays(source=[0, 1], target=[1, 2])


def scored(*values: float) -> NodeScores:
    return NodeScores(np.array(values))


def test_a_relationship_scores_the_sum_of_its_ends(path):
    best, scores = aggregator(scored(0.5, 0.3, 0.2), graph=path)
    np.testing.assert_allclose(scores.values, [0.8, 0.5])
    assert best.ids.tolist() == [0, 1]
    np.testing.assert_allclose(best.scores, [0.8, 0.5])


def test_the_vector_is_whole_however_few_are_asked_for(path):
    best, scores = aggregator(scored(0.5, 0.3, 0.2), graph=path, top_k=1)
    assert best.ids.tolist() == [0]
    assert len(scores.values) == 2


def test_facts_of_one_pair_come_once_by_their_first_row():
    """Rows 0 and 2 join the same two nodes, in both directions."""
    graph = Graph.from_arrays(source=[0, 1, 1], target=[1, 2, 0])
    best, scores = aggregator(scored(0.5, 0.3, 0.2), graph=graph, unit="pair")
    assert best.ids.tolist() == [0, 1]
    np.testing.assert_allclose(scores.values, [0.8, 0.5, 0.8])


def test_as_facts_every_row_stands_for_itself():
    graph = Graph.from_arrays(source=[0, 1, 1], target=[1, 2, 0])
    best, _ = aggregator(scored(0.5, 0.3, 0.2), graph=graph, unit="fact")
    assert best.ids.tolist() == [0, 2, 1]


def test_equal_relationships_come_by_lower_id(path):
    best, _ = aggregator(scored(0.25, 0.5, 0.25), graph=path)
    assert best.ids.tolist() == [0, 1]


def test_a_graph_without_relationships_gives_none():
    best, scores = aggregator(scored(1.0), graph=Graph.from_arrays([], [], n_nodes=1))
    assert len(best) == len(scores.values) == 0
