"""Relationship operators and path pooling, worked out by hand, and against a scan of all rows."""

import numpy as np
import pytest
from by_hand import Planted, alone, check, falling

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import NodeScores, Question
from methods.pathcorag.steps import among
from operators.relationship.of_graph import aggregator, onehop
from operators.search import relationship_vdb


@pytest.mark.parametrize(
    ("source", "target", "settings", "best", "every"),
    [
        ([0, 1], [1, 2], {}, [0, 1], [0.8, 0.5]),
        # rows 0 and 2 join the same two nodes, in both directions
        ([0, 1, 1], [1, 2, 0], {"unit": "pair"}, [0, 1], [0.8, 0.5, 0.8]),
        ([0, 1, 3], [1, 2, 4], {"handed_on": "best"}, [0, 1], [0.8, 0.5, 0.0]),
        ([0, 1, 3], [1, 2, 4], {"handed_on": "best", "top_k": 1}, [0], [0.8, 0.0, 0.0]),
    ],
)
def test_a_relationship_scores_the_sum_of_its_ends_and_a_pair_counts_once(
    source, target, settings, best, every
):
    mass = np.array([0.5, 0.3, 0.2, 0, 0])[: max(source + target) + 1]
    graph = Graph.from_arrays(source, target)
    result, scores = aggregator(NodeScores(mass), graph=graph, **settings)
    assert result.ids.tolist() == best
    np.testing.assert_allclose(scores.values, every)


@pytest.fixture
def kite():
    """0 joined to 1, 2 and 3; 1 to 2; 3 to 4. Degrees 3, 2, 2, 2, 1."""
    return Graph.from_arrays([0, 1, 4, 0, 3], [1, 2, 3, 2, 0], weight=[1, 9, 1, 2, 1])


def test_relationships_at_nodes_come_by_degree_weight_and_id_or_those_between_first(kite):
    """Rows 0, 3 and 4 have 3 + 2, row 3 the most weight."""
    assert onehop(falling(0), graph=kite).items() == [(3, 5.0), (0, 5.0), (4, 5.0)]
    # A star of four: every relationship has degrees 4 + 1 and weight 1.
    star = Graph.from_arrays([0, 0, 0, 0], [1, 2, 3, 4])
    assert onehop(falling(3, 0, 1), graph=star, ties="nodes").ids.tolist() == [2, 0, 1, 3]
    assert onehop(falling(3, 0, 1), graph=star).ids.tolist() == [0, 1, 2, 3]
    # Of nodes 0 and 1: row 3 is between them; node 2 is joined to both, 3 and 4 to one each.
    # Degrees 3, 3, 2, 2, 2: rows 1 and 2 lead to node 2, row 0 to 3, and row 4 to 4.
    graph = Graph.from_arrays([0, 0, 2, 0, 1, 3], [3, 2, 1, 1, 4, 4])
    result = onehop(falling(0, 1), graph=graph, order="links")
    assert result.items() == [(3, 6.0), (1, 5.0), (2, 5.0), (0, 5.0), (4, 5.0)]
    assert onehop(falling(0, 1), graph=graph, order="links", per_node=1).ids.tolist() == [3, 1, 2]


def test_the_most_similar_relationships_come_first_or_by_degree_and_weight(kite):
    """Row i lies on axis 0 by 0.9, 0.8, 0.7, 0.6 and 0.5."""
    vectors = np.zeros((5, 5), np.float32)
    vectors[:, 0] = [0.9, 0.8, 0.7, 0.6, 0.5]
    needs = {
        "relationship_index": VectorIndex(vectors),
        "embedder": Planted(lambda text: np.eye(5)[int(text)]),
        "graph": kite,
    }
    result = alone(relationship_vdb)(Question("q", "0"), top_k=3, **needs)
    check(result, [0, 1, 2], [0.9, 0.8, 0.7])
    # Degrees of rows 0 to 3: 5, 4, 3, 5; row 3 weighs more than row 0.
    result = alone(relationship_vdb)(Question("q", "0"), order="degree_weight", **needs)
    check(result, [3, 0, 1, 2], [0.6, 0.9, 0.8, 0.7])


@pytest.mark.parametrize("seed", range(8))
def test_relationships_at_nodes_are_those_that_a_scan_of_all_finds(seed):
    """In a graph with loops, parallel rows and weights of 0."""
    chance = np.random.default_rng(seed)
    graph = Graph.from_arrays(*chance.integers(12, size=(2, 40)), weight=chance.integers(0, 3, 40))
    nodes = chance.integers(graph.n_nodes, size=seed % 5)
    begin, end = np.isin(graph.source, nodes), np.isin(graph.target, nodes)
    assert graph.relationships_at(nodes).tolist() == np.flatnonzero(begin | end).tolist()
    found = onehop(falling(*nodes), graph=graph).ids
    assert sorted(found.tolist()) == np.flatnonzero(begin | end).tolist()
    inside = among(falling(*nodes), graph=graph).ids
    assert sorted(inside.tolist()) == np.flatnonzero(begin & end).tolist()
