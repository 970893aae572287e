"""Relationship operators, worked out by hand, and what they read and hold."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted, check, falling, ranked, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import alone
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import NodeScores, Query, Question
from methods.hipporag2.facts import filter_llm, link
from methods.pathcorag.steps import among
from operators.node.relnode import relnode
from operators.relationship.aggregator import aggregator
from operators.relationship.onehop import onehop
from operators.relationship.vdb import vdb


def scored(*values: float) -> NodeScores:
    return NodeScores(np.array(values))


def test_a_relationship_scores_the_sum_of_its_ends_and_a_pair_counts_once():
    # 0 - 1 - 2.
    path = Graph.from_arrays(source=[0, 1], target=[1, 2])
    best, scores = aggregator(scored(0.5, 0.3, 0.2), graph=path)
    np.testing.assert_allclose(scores.values, [0.8, 0.5])
    check(best, [0, 1], [0.8, 0.5])
    # Rows 0 and 2 join the same two nodes, in both directions.
    graph = Graph.from_arrays(source=[0, 1, 1], target=[1, 2, 0])
    best, scores = aggregator(scored(0.5, 0.3, 0.2), graph=graph, unit="pair")
    assert best.ids.tolist() == [0, 1]
    np.testing.assert_allclose(scores.values, [0.8, 0.5, 0.8])
    graph = Graph.from_arrays(source=[0, 1, 3], target=[1, 2, 4])
    best, scores = aggregator(scored(0.5, 0.3, 0.2, 0, 0), graph=graph, handed_on="best")
    assert best.ids.tolist() == [0, 1]
    best, scores = aggregator(scored(0.5, 0.3, 0.2, 0, 0), graph=graph, top_k=1, handed_on="best")
    assert scores.values.tolist() == [0.8, 0.0, 0.0]


@pytest.fixture
def kite():
    """0 joined to 1, 2 and 3; 1 to 2; 3 to 4. Degrees 3, 2, 2, 2, 1."""
    return Graph.from_arrays([0, 1, 4, 0, 3], [1, 2, 3, 2, 0], weight=[1, 9, 1, 2, 1])


def test_relationships_at_nodes_come_by_degree_weight_and_id_or_those_between_first(kite):
    """Rows 0, 3 and 4 have 3 + 2, row 3 the most weight."""
    result = onehop(falling(0), graph=kite)
    assert result.items() == [(3, 5.0), (0, 5.0), (4, 5.0)]
    # A star of four: every relationship has degrees 4 + 1 and weight 1.
    star = Graph.from_arrays([0, 0, 0, 0], [1, 2, 3, 4])
    result = onehop(falling(3, 0, 1), graph=star, ties="nodes")
    assert result.ids.tolist() == [2, 0, 1, 3]
    assert onehop(falling(3, 0, 1), graph=star).ids.tolist() == [0, 1, 2, 3]
    # Of nodes 0 and 1: row 3 is between them; node 2 is joined to both, 3 and 4 to one each.
    # Degrees 3, 3, 2, 2, 2: rows 1 and 2 lead to node 2, row 0 to 3, and row 4 to 4.
    graph = Graph.from_arrays([0, 0, 2, 0, 1, 3], [3, 2, 1, 1, 4, 4])
    result = onehop(falling(0, 1), graph=graph, order="links")
    assert result.items() == [(3, 6.0), (1, 5.0), (2, 5.0), (0, 5.0), (4, 5.0)]
    assert onehop(falling(0, 1), graph=graph, order="links", per_node=1).ids.tolist() == [3, 1, 2]


def test_the_most_similar_relationships_come_first_or_by_degree_and_weight(kite):
    # Row i lies on axis 0 by 0.9, 0.8, 0.7, 0.6 and 0.5.
    vectors = np.zeros((5, 5), np.float32)
    vectors[:, 0] = [0.9, 0.8, 0.7, 0.6, 0.5]
    search = {
        "relationship_index": VectorIndex(vectors),
        "embedder": Planted(lambda text: np.eye(5)[int(text)]),
        "graph": kite,
    }
    result = alone(vdb)(Question("q", "0"), top_k=3, **search)
    check(result, [0, 1, 2], [0.9, 0.8, 0.7])
    # Degrees of rows 0 to 3: 5, 4, 3, 5; row 3 weighs more than row 0.
    result = alone(vdb)(Question("q", "0"), order="degree_weight", **search)
    check(result, [3, 0, 1, 2], [0.6, 0.9, 0.8, 0.7])


QUESTION = Question("q", "Who built the lighthouse?")


@pytest.fixture
def facts():
    """Three facts with cosines 1, 0.6 and 0 to the question, and a synonymy edge between."""
    graph = Graph.from_arrays([0, 1, 2, 0], [1, 2, 3, 3], names=["ada", "norvik", "tarn", "ostra"])
    vectors = np.array([[0, 1], [0, 0], [0.6, 0.8], [1, 0]], np.float32)
    return {
        "graph": replace(graph, synonym=np.array([False, True, False, False])),
        "relationship_index": VectorIndex(vectors),
        "embedder": Planted(lambda text: (0, 1) if text == "north" else (1, 0)),
    }


def test_facts_come_by_their_place_between_the_least_and_the_most_similar(facts):
    result = alone(link)(QUESTION, **facts)
    check(result, [3, 2, 0], [1.0, 0.6, 0.0])
    # To `north` the cosines are 1, 0.8 and 0: the edge's 0 would change nothing but be there.
    result = alone(link)(QUESTION, Query(("north",)), top_k=4, **facts)
    assert result.ids.tolist() == [0, 2, 3]


def test_the_model_keeps_numbered_facts_in_order_and_all_where_no_reply_can_be_read(facts):
    llm = replying('{"useful": [2, 1, 9]}')
    rows = ranked(3, 0, 2, scores=(0.9, 0.8, 0.7))
    assert filter_llm(QUESTION, rows, graph=facts["graph"], llm=llm).items() == [(3, 0.9), (0, 0.8)]
    prompt = llm.prompts[0][-1].content
    assert "1. ada, related to, ostra" in prompt and "2. ada, related to, norvik" in prompt
    assert QUESTION.text in prompt
    llm = replying("well", "it depends")
    assert filter_llm(QUESTION, rows, graph=facts["graph"], llm=llm).ids.tolist() == [3, 0, 2]
    assert (len(llm.prompts), llm.meter.fallbacks) == (2, 1)


def test_a_node_may_have_the_mean_of_its_relationships(facts):
    """Row 0 joins ada and norvik, row 3 ada and ostra."""
    result = relnode(ranked(3, 0, scores=(1.0, 0.5)), graph=facts["graph"], score="mean")
    assert result.items() == [(0, 0.75), (3, 1.0), (1, 0.5)]


def scattered(seed: int) -> Graph:
    """A seeded graph with loops, parallel rows and weights of 0."""
    chance = np.random.default_rng(seed)
    n, n_rows, n_chunks = 12, 40, 5
    return Graph.from_arrays(
        *chance.integers(n, size=(2, n_rows)),
        chance.random((n, n_chunks)) < 0.4,
        chance.random((n_rows, n_chunks)) < 0.4,
        weight=chance.integers(0, 3, n_rows),
    )


@pytest.mark.parametrize("seed", range(20))
def test_relationships_at_nodes_are_those_that_a_scan_of_all_finds(seed):
    graph = scattered(seed)
    nodes = np.random.default_rng(seed).integers(graph.n_nodes, size=seed % 5)
    expected = np.flatnonzero(np.isin(graph.source, nodes) | np.isin(graph.target, nodes))
    assert graph.relationships_at(nodes).tolist() == expected.tolist()
    assert onehop(falling(*nodes), graph=graph).ids.dtype == np.int64
    assert sorted(onehop(falling(*nodes), graph=graph).ids.tolist()) == expected.tolist()
    inside = np.flatnonzero(np.isin(graph.source, nodes) & np.isin(graph.target, nodes))
    assert sorted(among(falling(*nodes), graph=graph).ids.tolist()) == inside.tolist()
