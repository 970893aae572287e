"""Relationship operators, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import NodeScores, Query, Question, Ranked
from operators.relationship.ranking import aggregator, onehop, vdb


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


def test_with_the_best_handed_on_the_others_and_those_of_score_0_are_nothing():
    graph = Graph.from_arrays(source=[0, 1, 3], target=[1, 2, 4])
    best, scores = aggregator(scored(0.5, 0.3, 0.2, 0, 0), graph=graph, handed_on="best")
    assert best.ids.tolist() == [0, 1]
    best, scores = aggregator(scored(0.5, 0.3, 0.2, 0, 0), graph=graph, top_k=1, handed_on="best")
    assert scores.values.tolist() == [0.8, 0.0, 0.0]


def test_a_graph_without_relationships_gives_none():
    best, scores = aggregator(scored(1.0), graph=Graph.from_arrays([], [], n_nodes=1))
    assert len(best) == len(scores.values) == 0


# ---- relationship.onehop


def ranked(*ids: int) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.linspace(1.0, 0.5, len(ids)))


@pytest.fixture
def kite():
    """0 joined to 1, 2 and 3; 1 to 2; 3 to 4. Degrees 3, 2, 2, 2, 1."""
    return Graph.from_arrays([0, 1, 4, 0, 3], [1, 2, 3, 2, 0], weight=[1, 9, 1, 2, 1])


def test_relationships_at_a_node_come_by_the_degrees_of_their_ends_then_weight_then_id(kite):
    """Rows 0, 3 and 4 have 3 + 2, row 3 the most weight."""
    found = onehop(ranked(0), graph=kite)
    assert found.ids.tolist() == [3, 0, 4]
    assert found.scores.tolist() == [5.0, 5.0, 5.0]


def test_a_relationship_of_two_given_nodes_comes_once(kite):
    found = onehop(ranked(2, 1), graph=kite)
    assert found.ids.tolist() == [3, 0, 1]
    assert found.scores.tolist() == [5.0, 5.0, 4.0]


def test_relationships_of_neighbours_are_not_meant(kite):
    assert onehop(ranked(4), graph=kite).ids.tolist() == [2]


def test_ties_may_come_in_the_order_of_the_nodes_and_by_id_at_each():
    """A star of four: every relationship has degrees 4 + 1 and weight 1."""
    star = Graph.from_arrays([0, 0, 0, 0], [1, 2, 3, 4])
    found = onehop(ranked(3, 0, 1), graph=star, ties="nodes")
    assert found.ids.tolist() == [2, 0, 1, 3]
    assert onehop(ranked(3, 0, 1), graph=star).ids.tolist() == [0, 1, 2, 3]


def test_relationships_between_the_nodes_come_before_those_that_lead_out_by_links():
    """Of nodes 0 and 1: row 3 is between them; node 2 is joined to both, 3 and 4 to one each.

    Degrees 3, 3, 2, 2, 2: rows 1 and 2 lead to node 2, row 0 to 3, and row 4 to 4.
    """
    graph = Graph.from_arrays([0, 0, 2, 0, 1, 3], [3, 2, 1, 1, 4, 4])
    found = onehop(ranked(0, 1), graph=graph, order="links")
    assert found.ids.tolist() == [3, 1, 2, 0, 4]
    assert found.scores.tolist() == [6.0, 5.0, 5.0, 5.0, 5.0]
    assert onehop(ranked(0, 1), graph=graph, order="links", per_node=1).ids.tolist() == [3, 1, 2]
    assert not len(onehop(ranked(), graph=graph, order="links", per_node=1))


def test_the_list_is_cut_from_behind(kite):
    assert onehop(ranked(0), graph=kite, top_k=1).ids.tolist() == [3]


# ---- relationship.vdb


class Axes:
    """A text is the number of its axis, of five."""

    identity = "axes"
    dimension = 5

    def encode(self, texts, *, kind):
        return np.eye(5, dtype=np.float32)[[int(text) for text in texts]]


@pytest.fixture
def search(kite):
    """Row i lies on axis 0 by 0.9, 0.8, 0.7, 0.6 and 0.5."""
    vectors = np.zeros((5, 5), np.float32)
    vectors[:, 0] = [0.9, 0.8, 0.7, 0.6, 0.5]
    return {"relationship_index": VectorIndex(vectors), "embedder": Axes(), "graph": kite}


def test_the_most_similar_relationships_come_first(search):
    found = alone(vdb)(Question("q", "0"), top_k=3, **search)
    assert found.ids.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.scores, [0.9, 0.8, 0.7], atol=1e-6)


def test_a_query_takes_the_place_of_the_question(search):
    found = alone(vdb)(Question("q", "4"), Query(("0",)), top_k=1, **search)
    assert found.ids.tolist() == [0]


def test_those_found_may_be_given_by_degree_and_weight(search):
    """Degrees of rows 0 to 3: 5, 4, 3, 5; row 3 weighs more than row 0."""
    found = alone(vdb)(Question("q", "0"), order="degree_weight", **search)
    assert found.ids.tolist() == [3, 0, 1, 2]
    np.testing.assert_allclose(found.scores, [0.6, 0.9, 0.8, 0.7], atol=1e-6)
