"""Nodes activated along sentences, and weighed by their chunks, worked out by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Question, Ranked
from operators.node.activation import activate
from operators.node.adjacent import specificity

A, B, C, D = range(4)
ASKED = Question("q", "east")


class East:
    """Every question points east."""

    identity = "east"
    dimension = 2

    def encode(self, texts, *, kind):
        return np.array([(1.0, 0.0)] * len(texts), np.float32)


@pytest.fixture
def three_sentences():
    """`A B` resembles the question by 0.8, `A C` by 0.6, `B D` by 0.96."""
    named = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], bool)
    tri_graph = TriGraph(
        Texts.of(["a", "b", "c", "d"]),
        Texts.of(["A met B", "A met C", "B met D"]),
        csr_matrix(named),
        csr_matrix(np.ones((4, 1), np.int64)),
    )
    vectors = np.array([[0.8, 0.6], [0.6, 0.8], [0.96, 0.28]], np.float32)
    return {
        "graph": Graph.from_arrays([], [], names=["a", "b", "c", "d"]),
        "tri_graph": tri_graph,
        "sentence_index": VectorIndex(vectors),
        "embedder": East(),
    }


def seeds(*nodes: int, scores: tuple[float, ...] = ()):
    return Ranked(np.array(nodes, np.int64), np.array(scores or [1.0] * len(nodes)))


def weights(found) -> dict[int, float]:
    return dict(zip(found.ids.tolist(), found.scores.round(6).tolist(), strict=True))


def test_a_node_passes_its_score_times_the_cosine_of_its_best_sentence(three_sentences):
    found, active = alone(activate)(seeds(A), ASKED, rounds=1, **three_sentences)
    assert weights(found) == {A: 1.8, B: 0.8}  # A is in its own sentence
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.0]  # 0.8 / 2


def test_the_second_round_goes_on_from_what_the_first_has_reached(three_sentences):
    """B passes 0.8 * 0.96 = 0.768 to B and D; A passes 0.8 * 0.6 = 0.48, which is too little."""
    found, active = alone(activate)(seeds(A), ASKED, rounds=2, **three_sentences)
    assert weights(found) == {A: 1.8, B: 1.568, D: 0.768}
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.256]  # 0.768 / 3


def test_a_sentence_is_taken_once(three_sentences):
    """A has its sentence with C left for the second round: 0.8 * 0.6 = 0.48."""
    found, _ = alone(activate)(seeds(A), ASKED, rounds=2, threshold=0.4, **three_sentences)
    assert weights(found) == {A: 2.28, B: 1.568, D: 0.768, C: 0.48}


def test_several_sentences_of_a_node_may_count(three_sentences):
    found, _ = alone(activate)(seeds(A), ASKED, rounds=1, sentences_per_node=2, **three_sentences)
    assert weights(found) == {A: 2.4, B: 0.8, C: 0.6}


def test_a_node_below_the_threshold_passes_nothing(three_sentences):
    found, active = alone(activate)(seeds(A, scores=(0.4,)), ASKED, **three_sentences)
    assert weights(found) == {A: 0.4}
    assert active.values.round(6).tolist() == [0.4, 0.0, 0.0, 0.0]


def test_without_a_round_the_nodes_stay_as_they_are(three_sentences):
    given = seeds(C, A, C, scores=(0.3, 0.9, 0.5))
    found, _ = alone(activate)(given, ASKED, rounds=0, **three_sentences)
    assert weights(found) == {A: 0.9, C: 0.5}


def test_two_nodes_may_take_the_same_sentence_in_one_round(three_sentences):
    """B's best sentence is the one with D; both A and D pass to B and to themselves."""
    found, _ = alone(activate)(seeds(B, D), ASKED, rounds=1, **three_sentences)
    assert weights(found) == {B: 2.92, D: 2.92}  # 1 + 0.96 + 0.96


def test_sentences_of_another_graph_are_refused(three_sentences):
    other = {**three_sentences, "graph": Graph.from_arrays([], [], n_nodes=3)}
    with pytest.raises(UserError, match="build.graph=entities"):
        alone(activate)(seeds(A), ASKED, **other)


# ---- specificity


@pytest.fixture
def in_chunks():
    """A is in two chunks through its relationships, B in one, C in none."""
    return Graph.from_arrays(
        source=[A, A],
        target=[B, D],
        node_chunk=[[1, 1], [1, 0], [1, 1], [0, 1]],
        relationship_chunk=[[1, 0], [0, 1]],
    )


def test_a_node_in_two_chunks_weighs_half(in_chunks):
    found = specificity(seeds(A, B, C, scores=(0.9, 0.6, 0.3)), graph=in_chunks)
    assert weights(found) == {B: 0.6, A: 0.45, C: 0.3}
    assert found.ids.tolist() == [B, A, C]


def test_of_a_node_given_twice_the_best_score_counts(in_chunks):
    found = specificity(seeds(A, B, A, scores=(0.2, 0.3, 0.8)), graph=in_chunks, top_k=1)
    assert weights(found) == {A: 0.4}
