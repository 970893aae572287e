"""Nodes found by vectors, by TF-IDF, beside other nodes and at relationships, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.tfidf import Tfidf
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Query, Question, Ranked
from operators.node.adjacent import expand, onehop, relnode
from operators.node.search import tfidf, vdb

A, B, C, D = range(4)
NO_TYPES = Graph.from_arrays([], [], n_nodes=4)


def ranked(*ids: int, scores: tuple[float, ...] = ()) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


# ---- node.vdb


class Angles:
    """A text is its angle: `0` lies along the first axis, `90` along the second."""

    identity = "angles"
    dimension = 2

    def encode(self, texts, *, kind):
        assert kind == "question"
        angles = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture
def circle():
    """Nodes at 0, 60 and 90 degrees."""
    angles = np.deg2rad([0, 60, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return {"node_index": VectorIndex(vectors), "embedder": Angles(), "graph": NO_TYPES}


def test_the_most_similar_nodes_come_first(circle):
    found = alone(vdb)(Question("q", "0"), top_k=2, **circle)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [1.0, 0.5], atol=1e-6)


def test_a_query_takes_the_place_of_the_question_and_its_best_text_counts(circle):
    found = alone(vdb)(Question("q", "0"), Query(("60", "90")), **circle)
    assert found.ids.tolist() == [1, 2, 0]
    np.testing.assert_allclose(found.scores, [1.0, 1.0, 0.5], atol=1e-6)


def test_a_share_is_half_of_one_and_the_cosine_in_parts_of_the_sum(circle):
    """Cosines 1 and 0.5 become 1 and 0.75, of 1.75 together."""
    found = alone(vdb)(Question("q", "0"), top_k=2, score="share", **circle)
    np.testing.assert_allclose(found.scores, [1 / 1.75, 0.75 / 1.75], atol=1e-6)


def test_more_than_there_are_gives_all(circle):
    assert len(alone(vdb)(Question("q", "0"), top_k=9, **circle)) == 3


def test_nodes_below_the_threshold_are_left_out(circle):
    assert alone(vdb)(Question("q", "0"), min_score=0.4, **circle).ids.tolist() == [0, 1]


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


def test_nodes_that_share_no_word_are_left_out(passages):
    assert len(tfidf(Question("q", "a purple whale"), tfidf=passages, graph=NO_TYPES)) == 0
    assert (
        len(tfidf(Question("q", "frog"), nodes=ranked(0, 1), tfidf=passages, graph=NO_TYPES)) == 0
    )


def test_of_several_texts_the_best_one_counts(passages):
    found = tfidf(
        Question("q", "frog"),
        Query(("red dog", "green frog")),
        tfidf=passages,
        graph=NO_TYPES,
        top_k=2,
    )
    assert found.ids.tolist() == [0, 3]
    np.testing.assert_allclose(found.scores, [1.0, 1.0])


# ---- node.onehop


@pytest.fixture
def star():
    """A joined to B (1), C (3) and D (1); C to D (2)."""
    return Graph.from_arrays([A, A, D, C], [B, C, A, D], weight=[1, 3, 1, 2])


def test_neighbours_come_by_weight_and_ties_by_lower_id(star):
    found = onehop(ranked(A), graph=star)
    assert found.ids.tolist() == [C, B, D]
    assert found.scores.tolist() == [3.0, 1.0, 1.0]


def test_neighbours_of_the_first_node_come_first(star):
    found = onehop(ranked(B, C), graph=star)
    assert found.ids.tolist() == [A, D]
    assert found.scores.tolist() == [1.0, 2.0]


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


def test_an_isolated_node_has_no_neighbours():
    assert len(onehop(ranked(A), graph=Graph.from_arrays([], [], n_nodes=1))) == 0


def test_the_list_is_cut_from_behind(star):
    assert onehop(ranked(A), graph=star, top_k=1).ids.tolist() == [C]


# ---- node.relnode


def test_both_ends_of_each_relationship_come_in_order_and_once(star):
    """Rows 3 and 1: C - D, then A - C, of which C is there already."""
    found = relnode(ranked(3, 1, scores=(0.9, 0.4)), graph=star)
    assert found.ids.tolist() == [C, D, A]
    assert found.scores.tolist() == [0.9, 0.9, 0.4]


def test_a_node_has_the_best_score_of_its_relationships(star):
    found = relnode(ranked(1, 3, scores=(0.4, 0.9)), graph=star)
    assert found.ids.tolist() == [A, C, D]
    assert found.scores.tolist() == [0.4, 0.9, 0.9]


def test_the_ends_are_cut_from_behind(star):
    assert relnode(ranked(3, 1), graph=star, top_k=2).ids.tolist() == [C, D]


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


def test_of_a_node_given_twice_the_best_score_counts(star):
    found = expand(ranked(B, B, scores=(0.2, 0.5)), graph=star)
    assert found.items() == [(A, 0.5)]


def test_the_number_bounds_what_is_brought_and_not_what_was_given(star):
    found = expand(ranked(C, B), graph=star, include_seeds=True, top_k=1)
    assert found.ids.tolist() == [C, B, A]


def test_alike_they_keep_their_order_and_lose_their_scores(star):
    found = expand(ranked(B, C, scores=(0.5, 0.9)), graph=star, alike=True)
    assert found.items() == [(A, 1.0), (D, 1.0)]


def test_with_types_only_neighbours_of_these_are_brought(star):
    typed = replace(star, types=Texts.of(["place", "person", "person", "person"]))
    assert expand(ranked(C), graph=typed, types=("person",)).ids.tolist() == [D]


def test_a_node_that_was_given_is_not_brought_again(star):
    assert expand(ranked(A, C), graph=star).ids.tolist() == [D, B]
