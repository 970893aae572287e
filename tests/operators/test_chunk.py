"""Chunk operators, worked out by hand."""

import math

import numpy as np
import pytest

from graphrag_bench.contract import alone
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.bm25 import Bm25
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import NodeScores, Query, Question, Ranked, RelationshipScores
from operators.chunk import aggregator, bm25, min_max, vdb
from operators.node.pagerank import ppr
from operators.relationship import ranking as relationship


def asked(text: str) -> Question:
    return Question("q", text)


def scores(*values: float) -> RelationshipScores:
    return RelationshipScores(np.array(values))


# ---- chunk.aggregator


@pytest.fixture
def graph():
    """Relationship 0, of 0 and 1, is read from the chunks 0 and 1; 1, of 1 and 2, from chunk 1."""
    return Graph.from_arrays(
        source=[0, 1],
        target=[1, 2],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 0]],
        relationship_chunk=[[1, 1, 0], [0, 1, 0]],
    )


def test_a_chunk_scores_the_sum_of_the_relationships_read_from_it(graph):
    found = aggregator(scores(0.8, 0.5), graph=graph)
    assert found.ids.tolist() == [1, 0]
    np.testing.assert_allclose(found.scores, [1.3, 0.8])


def test_a_chunk_without_relationships_is_left_out_unless_asked_for(graph):
    assert 2 not in aggregator(scores(0.8, 0.5), graph=graph).ids
    padded = aggregator(scores(0.8, 0.5), graph=graph, pad=True)
    assert padded.ids.tolist() == [1, 0, 2]
    assert padded.scores[-1] == 0.0


def test_only_the_best_chunks_are_given(graph):
    assert aggregator(scores(0.8, 0.5), graph=graph, top_k=1).ids.tolist() == [1]


@pytest.fixture
def parallel():
    """Two facts join 0 and 1: row 0 in chunk 0, row 1 in the chunks 0 and 1."""
    return Graph.from_arrays(
        source=[0, 1],
        target=[1, 0],
        node_chunk=[[1, 1], [1, 1]],
        relationship_chunk=[[1, 0], [1, 1]],
    )


def test_two_facts_of_one_pair_count_once_for_a_chunk(parallel):
    found = aggregator(scores(0.8, 0.8), graph=parallel)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [0.8, 0.8])


def test_a_pair_counts_by_its_best_row(parallel):
    found = aggregator(scores(0.2, 0.8), graph=parallel)
    np.testing.assert_allclose(found.scores, [0.8, 0.8])


def test_as_facts_they_count_twice(parallel):
    found = aggregator(scores(0.8, 0.8), graph=parallel, unit="fact")
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [1.6, 0.8])


def test_a_chunk_may_score_the_sum_of_its_nodes_instead(graph):
    mass = NodeScores(np.array([0.5, 0.3, 0.2]))
    found = aggregator(scores(0.0, 0.0), mass, graph=graph, by="nodes")
    assert found.ids.tolist() == [1, 0]
    np.testing.assert_allclose(found.scores, [1.0, 0.8])


def test_without_node_scores_nodes_cannot_be_summed(graph):
    with pytest.raises(UserError, match=r"use: \[node_scores\]"):
        aggregator(scores(0.8, 0.5), graph=graph, by="nodes")


def test_from_a_node_to_its_chunks(graph):
    """HippoRAG's chain from node 0: the masses are 7/12, 4/12, 1/12 on the path 0 - 1 - 2."""
    _, mass = alone(ppr)(Ranked(np.array([0]), np.array([1.0])), graph=graph)
    _, of_relationships = relationship.aggregator(mass, graph=graph)
    found = aggregator(of_relationships, graph=graph)
    assert found.ids.tolist() == [1, 0]
    np.testing.assert_allclose(found.scores, [11 / 12 + 5 / 12, 11 / 12], atol=1e-9)


# ---- chunk.min_max


def test_scores_go_from_nothing_to_the_weight_and_keep_their_order():
    """12, 6 and 2 lie 10, 4 and 0 above the lowest."""
    found = min_max(Ranked(np.array([4, 9, 1]), np.array([12.0, 6.0, 2.0])), weight=0.5)
    assert found.ids.tolist() == [4, 9, 1]
    np.testing.assert_allclose(found.scores, [0.5, 0.2, 0.0])


def test_equal_scores_all_have_the_weight():
    assert min_max(Ranked(np.array([3]), np.array([-0.2]))).scores.tolist() == [1.0]
    assert min_max(Ranked(np.array([3, 5]), np.array([2.0, 2.0])), weight=3).scores.tolist() == [
        3,
        3,
    ]
    assert len(min_max(Ranked.empty())) == 0


# ---- chunk.bm25


@pytest.fixture
def animals():
    """Four chunks of two words; `dog` is in two of them, `cat` in one, `the` is a stop word."""
    return Bm25.of(["red dog", "blue dog", "green cat", "blue bird"])


def test_the_rarer_word_weighs_more(animals):
    """All chunks have the mean length, so a word found once weighs idf / (1 + 1.5).

    idf(cat) = ln(1 + 3.5 / 1.5), idf(dog) = ln(1 + 2.5 / 2.5).
    """
    found = bm25(asked("Is the cat or the dog here?"), bm25=animals)
    assert found.ids.tolist() == [2, 0, 1]
    cat, dog = math.log(1 + 3.5 / 1.5) / 2.5, math.log(2) / 2.5
    np.testing.assert_allclose(found.scores, [cat, dog, dog], atol=1e-6)


def test_chunks_that_share_no_word_are_left_out(animals):
    assert bm25(asked("a bird"), bm25=animals).ids.tolist() == [3]
    assert len(bm25(asked("an elephant"), bm25=animals)) == 0
    assert len(bm25(asked("the"), bm25=animals)) == 0


def test_capitals_do_not_count(animals):
    assert bm25(asked("CAT"), bm25=animals).ids.tolist() == [2]


def test_of_several_texts_the_scores_add_up(animals):
    both = bm25(asked("ignored"), Query(("blue", "bird")), bm25=animals)
    one = bm25(asked("blue bird"), bm25=animals)
    assert both.ids.tolist() == one.ids.tolist() == [3, 1]
    np.testing.assert_allclose(both.scores, one.scores)


# ---- chunk.vdb


@pytest.fixture
def library():
    texts = ["a red dog", "a blue dog", "the green cat"]
    embedder = Hashing()
    index = VectorIndex(embedder.encode(texts, kind="passage"))
    return {"chunk_index": index, "embedder": embedder}


def test_the_most_similar_chunk_comes_first(library):
    found = alone(vdb)(asked("the green cat"), **library, top_k=2)
    assert found.ids[0] == 2
    assert found.scores[0] == pytest.approx(1.0)
    assert len(found) == 2


def test_more_than_there_are_gives_all(library):
    assert sorted(alone(vdb)(asked("dog"), **library, top_k=9).ids.tolist()) == [0, 1, 2]


def test_a_query_takes_the_place_of_the_question(library):
    found = alone(vdb)(asked("the green cat"), Query(("a red dog",)), **library, top_k=1)
    assert found.ids.tolist() == [0]


def test_of_several_texts_the_best_score_counts(library):
    found = alone(vdb)(asked(""), Query(("a red dog", "the green cat")), **library, top_k=3)
    assert found.ids.tolist() == [0, 2, 1]
    np.testing.assert_allclose(found.scores[:2], 1.0, atol=1e-6)
