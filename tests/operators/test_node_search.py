"""Nodes found by vectors, by TF-IDF, beside other nodes and at relationships, by hand."""

import numpy as np
import pytest
from by_hand import Planted, angle, ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import alone
from graphrag_bench.indices.tfidf import Tfidf
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Question
from operators.node.onehop import expand, onehop
from operators.node.relnode import relnode
from operators.node.tfidf import tfidf
from operators.node.vdb import vdb

A, B, C, D = range(4)
NO_TYPES = Graph.from_arrays([], [], n_nodes=4)


# ---- node.vdb


@pytest.fixture
def circle():
    """Nodes at 0, 60 and 90 degrees."""
    angles = np.deg2rad([0, 60, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return {"node_index": VectorIndex(vectors), "embedder": Planted(angle), "graph": NO_TYPES}


def test_the_most_similar_nodes_come_first(circle):
    found = alone(vdb)(Question("q", "0"), top_k=2, **circle)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [1.0, 0.5], atol=1e-6)


def test_a_share_is_half_of_one_and_the_cosine_in_parts_of_the_sum(circle):
    """Cosines 1 and 0.5 become 1 and 0.75, of 1.75 together."""
    found = alone(vdb)(Question("q", "0"), top_k=2, score="share", **circle)
    np.testing.assert_allclose(found.scores, [1 / 1.75, 0.75 / 1.75], atol=1e-6)


# ---- node.tfidf


@pytest.fixture
def passages():
    return Tfidf.of(["red dog", "blue dog", "blue cat sleeps", "green frog"])


def test_the_nodes_that_share_the_rarest_words_come_first(passages):
    """Of four texts dog and blue are in two, red and cat in one."""
    found = tfidf(Question("q", "a red dog"), tfidf=passages, graph=NO_TYPES)
    assert found.ids.tolist() == [0, 1]
    assert found.scores[0] == pytest.approx(1.0)


def test_only_candidates_are_ranked_where_the_step_uses_them(passages):
    found = tfidf(Question("q", "blue dog"), nodes=ranked(2, 0), tfidf=passages, graph=NO_TYPES)
    assert found.ids.tolist() == [0, 2]


# ---- node.onehop


@pytest.fixture
def star():
    """A joined to B (1), C (3) and D (1); C to D (2)."""
    return Graph.from_arrays([A, A, D, C], [B, C, A, D], weight=[1, 3, 1, 2])


def test_neighbours_come_by_weight_and_ties_by_lower_id(star):
    found = onehop(ranked(A), graph=star)
    assert found.ids.tolist() == [C, B, D]
    assert found.scores.tolist() == [3.0, 1.0, 1.0]


def test_the_given_nodes_are_left_out_or_come_first(star):
    assert onehop(ranked(A, C), graph=star).ids.tolist() == [B, D]
    found = onehop(ranked(C, B, scores=(0.9, 0.8)), graph=star, include_seeds=True)
    assert found.ids.tolist() == [C, B, A, D]
    assert found.scores.tolist() == [0.9, 0.8, 3.0, 2.0]


def test_facts_of_one_pair_add_up_whichever_way_they_point():
    graph = Graph.from_arrays([A, A, C, C], [B, C, A, C], weight=[4, 2, 3, 9])
    found = onehop(ranked(A), graph=graph)
    assert found.ids.tolist() == [C, B]
    assert found.scores.tolist() == [5.0, 4.0]


# ---- node.relnode


def test_both_ends_of_each_relationship_come_in_order_and_once(star):
    """Rows 3 and 1: C - D, then A - C, of which C is there already."""
    found = relnode(ranked(3, 1, scores=(0.9, 0.4)), graph=star)
    assert found.ids.tolist() == [C, D, A]
    assert found.scores.tolist() == [0.9, 0.9, 0.4]


# ---- node.expand


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("sum", [(A, 0.9 + 0.5), (D, 0.9)]),
        ("best", [(A, 0.9), (D, 0.9)]),
        ("degree", [(A, 2.0 + 3.0), (D, 2.0 + 2.0)]),
    ],
)
def test_neighbours_are_scored_by_the_nodes_that_bring_them(star, score, expected):
    """C (0.9) brings A and D, B (0.5) brings A. Degrees: A 3, B 1, C 2, D 2."""
    found = expand(ranked(B, C, scores=(0.5, 0.9)), graph=star, score=score)
    assert found.ids.tolist() == [node for node, _ in expected]
    assert found.scores.tolist() == pytest.approx([value for _, value in expected])


def test_alike_they_keep_their_order_and_lose_their_scores(star):
    found = expand(ranked(B, C, scores=(0.5, 0.9)), graph=star, alike=True)
    assert found.items() == [(A, 1.0), (D, 1.0)]
