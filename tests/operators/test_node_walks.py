"""Nodes by walks and along sentences, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted, ranked
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.bipartite import TriGraph
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import ChunkScores, Node, Question, Ranked
from operators.chunk.ppr import chunk_restart
from operators.node.activation import activate
from operators.node.ppr import node_restart, ppr, specificity

# ---- Personalised PageRank from nodes, worked out by hand

A, B, C, D = range(4)


@pytest.fixture
def path():
    """A - B - C, and D by itself; weights 1."""
    return Graph.from_arrays(source=[A, B], target=[B, C], n_nodes=4)


@pytest.mark.parametrize(
    ("damping", "mass"),
    [
        (0.5, [0.583333, 0.333333, 0.083333, 0.0]),
        (0.1, [0.904545, 0.090909, 0.004545, 0.0]),
        (0.85, [0.345270, 0.459459, 0.195270, 0.0]),
        (0.0, [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_damping_is_the_chance_that_the_walk_goes_on(path, damping, mass):
    _, scores = alone(ppr)(ranked(A), graph=path, damping=damping)
    np.testing.assert_allclose(scores.values, mass, atol=1e-6)


def test_the_mass_of_an_isolated_node_goes_back_to_the_seeds(path):
    _, scores = alone(ppr)(ranked(A, D), graph=path)
    np.testing.assert_allclose(scores.values, [0.388889, 0.222222, 0.055556, 0.333333], atol=1e-6)


def test_parallel_relationships_add_up_and_direction_does_not_count():
    heavy = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3])
    parallel = Graph.from_arrays(source=[A, B, C, B], target=[B, C, B, C])
    of_heavy, of_parallel = (alone(ppr)(ranked(A), graph=graph)[1] for graph in (heavy, parallel))
    np.testing.assert_allclose(of_heavy.values, of_parallel.values)


@pytest.fixture
def in_chunks():
    """A - B in the chunks 0 and 1, B - C in the chunk 2: A is in two chunks, C in one."""
    return Graph.from_arrays(
        source=[A, B],
        target=[B, C],
        node_chunk=[[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]],
        relationship_chunk=[[1, 1, 0], [0, 0, 1]],
        n_nodes=4,
    )


def start(graph: Graph, nodes: Ranked[Node], reset: str) -> list[float]:
    """The reset itself: a walk that never goes on."""
    return alone(ppr)(nodes, graph=graph, damping=0.0, reset=reset)[1].values.round(6).tolist()


def test_a_seed_in_two_chunks_weighs_half(in_chunks):
    assert start(in_chunks, ranked(A, C), "specificity") == [0.333333, 0.0, 0.666667, 0.0]


def test_a_seed_that_two_names_gave_counts_once(in_chunks):
    for reset in ("specificity", "uniform"):
        twice, once = ranked(C, C, D), ranked(C, D)
        assert start(in_chunks, twice, reset) == start(in_chunks, once, reset)


def test_without_weights_every_pair_counts_alike():
    graph = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3], n_nodes=4)
    _, scores = alone(ppr)(ranked(A), graph=graph, weighted=False)
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.083333, 0.0], atol=1e-6)
    _, again = alone(ppr)(ranked(A), graph=graph)
    np.testing.assert_allclose(again.values, [0.541667, 0.333333, 0.125, 0.0], atol=1e-6)


def test_nodes_of_little_mass_are_left_out_and_hand_on_nothing_when_only_the_best_do(path):
    best, scores = alone(ppr)(ranked(A), graph=path, min_mass=0.1, handed_on="best")
    assert best.ids.tolist() == [A, B]
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.0, 0.0], atol=1e-6)
    best, scores = alone(ppr)(ranked(A), graph=path, min_mass=0.1)
    assert best.ids.tolist() == [A, B]
    assert scores.values[C] > 0.08


# ---- Where a walk restarts: weights of nodes by how few chunks name them, and of similar chun

GRAPH = Graph.from_arrays([], [], names=list("abc"), node_chunk=[[1, 1, 1], [1, 0, 0], [0, 0, 0]])


def shares(*scores: float, n_dense: int) -> list[float]:
    return chunk_restart(ChunkScores(np.array(scores)), n_dense=n_dense).values.round(6).tolist()


def test_a_node_in_three_chunks_restarts_a_third_as_often_as_a_node_in_one() -> None:
    found = node_restart(Ranked[Node](np.array([0, 1]), np.ones(2)), graph=GRAPH)
    assert found.ids.tolist() == [1, 0]
    np.testing.assert_allclose(found.scores, [0.75, 0.25])


def test_a_node_in_no_chunk_counts_as_in_one_and_of_a_node_given_twice_the_best_counts() -> None:
    given = Ranked[Node](np.array([2, 1, 2]), np.array([0.5, 1.0, 1.0]))
    found = node_restart(given, graph=GRAPH)
    assert (found.ids.tolist(), found.scores.tolist()) == ([1, 2], [0.5, 0.5])


def test_chunks_restart_by_how_far_they_are_above_the_last_of_the_best() -> None:
    assert shares(0.5, 0.9, 0.2, 0.6, n_dense=3) == [0.0, 0.8, 0.0, 0.2]


# ---- Nodes activated along sentences, and weighed by their chunks, worked out by hand

ASKED = Question("q", "east")


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
        "embedder": Planted(),
    }


def weights(found) -> dict[int, float]:
    return dict(zip(found.ids.tolist(), found.scores.round(6).tolist(), strict=True))


def test_a_node_passes_its_score_times_the_cosine_of_its_best_sentence(three_sentences):
    found, active = alone(activate)(ranked(A), ASKED, rounds=1, **three_sentences)
    assert weights(found) == {A: 1.8, B: 0.8}  # A is in its own sentence
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.0]  # 0.8 / 2


def test_the_second_round_goes_on_from_what_the_first_has_reached(three_sentences):
    """B passes 0.8 * 0.96 = 0.768 to B and D; A passes 0.8 * 0.6 = 0.48, which is too little."""
    found, active = alone(activate)(ranked(A), ASKED, rounds=2, **three_sentences)
    assert weights(found) == {A: 1.8, B: 1.568, D: 0.768}
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.256]  # 0.768 / 3


def test_a_sentence_is_taken_once(three_sentences):
    """A has its sentence with C left for the second round: 0.8 * 0.6 = 0.48."""
    found, _ = alone(activate)(ranked(A), ASKED, rounds=2, threshold=0.4, **three_sentences)
    assert weights(found) == {A: 2.28, B: 1.568, D: 0.768, C: 0.48}


def test_several_sentences_of_a_node_may_count(three_sentences):
    found, _ = alone(activate)(ranked(A), ASKED, rounds=1, sentences_per_node=2, **three_sentences)
    assert weights(found) == {A: 2.4, B: 0.8, C: 0.6}


def test_sentences_of_another_graph_are_refused(three_sentences):
    other = {**three_sentences, "graph": Graph.from_arrays([], [], n_nodes=3)}
    with pytest.raises(UserError, match="build.graph=entities"):
        alone(activate)(ranked(A), ASKED, **other)


# ---- specificity


@pytest.fixture
def of_chunks():
    """A is in two chunks through its relationships, B in one, C in none."""
    return Graph.from_arrays(
        source=[A, A],
        target=[B, D],
        node_chunk=[[1, 1], [1, 0], [1, 1], [0, 1]],
        relationship_chunk=[[1, 0], [0, 1]],
    )


def test_a_node_in_two_chunks_weighs_half(of_chunks):
    found = specificity(ranked(A, B, C, scores=(0.9, 0.6, 0.3)), graph=of_chunks)
    assert weights(found) == {B: 0.6, A: 0.45, C: 0.3}
    assert found.ids.tolist() == [B, A, C]
