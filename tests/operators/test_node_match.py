"""Nodes matched to the names of a question without a vector, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Mentions, Node, Question, Ranked
from operators.node.matching import match, unmatched_none, unmatched_vectors

NAMES = ["hank snow", "hello love", "love", "nashville", "state"]
GRAPH = Graph.from_arrays([], [], names=NAMES)
TABLE = ChunkTable.of([("a", "Hello Love (song)", "x"), ("b", "Love", "y")])


def matched(text: str, *mentions: str, **settings) -> tuple[list[str], tuple[str, ...]]:
    found, left = match(
        Mentions(mentions), Question("q", text), graph=GRAPH, chunk_table=TABLE, **settings
    )
    assert found.scores.tolist() == [1.0] * len(found)
    return [NAMES[row] for row in found.ids], left.names


def test_names_in_the_question_come_first_and_then_the_mentions() -> None:
    asked = "Was Nashville home to the performer of Hello Love?"
    assert matched(asked, "nashville") == (["hello love", "nashville"], ())


def test_a_lower_case_question_without_a_mention_has_its_names_found() -> None:
    assert matched("who wrote hello love") == (["hello love"], ())


def test_a_mention_inside_a_name_that_was_found_is_passed_over() -> None:
    assert matched("Who sang Hello Love?", "Love") == (["hello love"], ())


def test_a_mention_of_no_node_is_left() -> None:
    assert matched("Did Otto meet Hank Snow?", "otto", "hank snow") == (["hank snow"], ("otto",))


def test_a_mention_with_a_possessive_s_is_found() -> None:
    assert matched("What is Nashville's river?", "nashville s") == (["nashville"], ())


def test_names_of_one_word_count_where_they_are_titles() -> None:
    assert matched("what is love in nashville") == (["love"], ())
    assert matched("what is love in nashville", single_words="any") == (["love", "nashville"], ())
    assert matched("what is love in nashville", single_words="none") == ([], ())


def test_a_common_noun_among_the_mentions_is_left_and_a_capitalised_one_is_not() -> None:
    assert matched("Which state is it?", "state") == ([], ("state",))
    assert matched("Which State is it?", "state") == (["state"], ())


def test_the_order_of_the_parts_is_the_order_of_the_nodes_and_a_part_can_be_left_out() -> None:
    asked, names = "Was Nashville home to Hank Snow?", ("nashville", "hank snow")
    both = ("mentions", "dictionary")
    assert matched(asked, *names, parts=both) == (["nashville", "hank snow"], ())
    assert matched(asked, *names, parts=("dictionary",)) == (["hank snow"], ("nashville",))
    assert matched(asked, *names, parts=("mentions",)) == (["nashville", "hank snow"], ())


class Directions:
    """`song` is near node 1, `noise` near nothing."""

    identity, dimension = "directions", 2

    def encode(self, texts, *, kind):
        assert kind == "question"
        return np.array(
            [{"song": (0.6, 0.8), "noise": (-1, 0)}[text] for text in texts], np.float32
        )


@pytest.fixture
def vectors():
    index = VectorIndex(np.array([[0, -1], [0, 1], [0.1, -1]], np.float32))
    return {"node_index": index, "embedder": Directions()}


GIVEN = Ranked[Node](np.array([2, 0]), np.array([1.0, 0.5]))


def test_names_left_have_their_most_similar_node_behind_the_given_ones(vectors) -> None:
    found = unmatched_vectors(GIVEN, Mentions(("song", "noise")), **vectors, min_score=0.7)
    assert found.ids.tolist() == [2, 0, 1]
    np.testing.assert_allclose(found.scores, [1.0, 0.5, 0.8], atol=1e-6)


def test_a_name_below_the_threshold_gives_nothing_and_a_given_node_keeps_its_score(vectors) -> None:
    assert unmatched_vectors(GIVEN, Mentions(("song",)), **vectors, min_score=0.9).ids.tolist() == [
        2,
        0,
    ]
    own = Ranked[Node](np.array([1]), np.array([0.25]))
    found = unmatched_vectors(own, Mentions(("song",)), **vectors, min_score=0.7)
    assert (found.ids.tolist(), found.scores.tolist()) == ([1], [0.25])


def test_without_names_the_embedder_is_not_asked() -> None:
    index = VectorIndex(np.zeros((0, 2), np.float32))
    found = unmatched_vectors(GIVEN, Mentions(()), node_index=index, embedder=None)
    assert found.ids.tolist() == unmatched_none(GIVEN).ids.tolist() == [2, 0]
