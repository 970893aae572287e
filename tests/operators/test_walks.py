"""Nodes and chunks by walks and along sentences, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted, check, ranked
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import walk_with_chunks
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.values import ChunkScores, Node, NodeScores, Question, Ranked
from methods.linearrag.activation import TriGraph, activate, activated
from operators.chunk.ppr import chunk_restart, node_restart, specificity
from operators.chunk.ppr import ppr as chunk_ppr
from operators.chunk.search import similarity
from operators.node.ppr import ppr

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


def test_mass_of_isolated_nodes_goes_back_parallel_rows_add_up_and_little_mass_is_nothing(path):
    _, scores = alone(ppr)(ranked(A, D), graph=path)
    np.testing.assert_allclose(scores.values, [0.388889, 0.222222, 0.055556, 0.333333], atol=1e-6)
    best, scores = alone(ppr)(ranked(A), graph=path, min_mass=0.1, handed_on="best")
    assert best.ids.tolist() == [A, B]
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.0, 0.0], atol=1e-6)
    best, scores = alone(ppr)(ranked(A), graph=path, min_mass=0.1)
    assert best.ids.tolist() == [A, B]
    assert scores.values[C] > 0.08
    heavy = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3])
    parallel = Graph.from_arrays(source=[A, B, C, B], target=[B, C, B, C])
    of_heavy, of_parallel = (alone(ppr)(ranked(A), graph=graph)[1] for graph in (heavy, parallel))
    np.testing.assert_allclose(of_heavy.values, of_parallel.values)
    graph = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3], n_nodes=4)
    _, scores = alone(ppr)(ranked(A), graph=graph, weighted=False)
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.083333, 0.0], atol=1e-6)
    _, again = alone(ppr)(ranked(A), graph=graph)
    np.testing.assert_allclose(again.values, [0.541667, 0.333333, 0.125, 0.0], atol=1e-6)


def start(graph: Graph, nodes: Ranked[Node], reset: str) -> list[float]:
    """The reset itself: a walk that never goes on."""
    return alone(ppr)(nodes, graph=graph, damping=0.0, reset=reset)[1].values.round(6).tolist()


def test_a_seed_in_two_chunks_weighs_half_and_one_given_twice_counts_once():
    # A - B in the chunks 0 and 1, B - C in the chunk 2: A is in two chunks, C in one.
    in_chunks = Graph.from_arrays(
        source=[A, B],
        target=[B, C],
        node_chunk=[[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]],
        relationship_chunk=[[1, 1, 0], [0, 0, 1]],
        n_nodes=4,
    )
    assert start(in_chunks, ranked(A, C), "specificity") == [0.333333, 0.0, 0.666667, 0.0]
    for reset in ("specificity", "uniform"):
        twice, once = ranked(C, C, D), ranked(C, D)
        assert start(in_chunks, twice, reset) == start(in_chunks, once, reset)


GRAPH = Graph.from_arrays([], [], names=list("abc"), node_chunk=[[1, 1, 1], [1, 0, 0], [0, 0, 0]])


def shares(*scores: float, n_dense: int) -> list[float]:
    return chunk_restart(ChunkScores(np.array(scores)), n_dense=n_dense).values.round(6).tolist()


def test_nodes_and_chunks_restart_by_their_share() -> None:
    result = node_restart(ranked(0, 1), graph=GRAPH)
    check(result, [1, 0], [0.75, 0.25])
    result = node_restart(ranked(2, 1, 2, scores=(0.5, 1.0, 1.0)), graph=GRAPH)
    assert (result.ids.tolist(), result.scores.tolist()) == ([1, 2], [0.5, 0.5])
    assert shares(0.5, 0.9, 0.2, 0.6, n_dense=3) == [0.0, 0.8, 0.0, 0.2]


EAST = Question("q", "east")


def weights(result) -> dict[int, float]:
    return dict(zip(result.ids.tolist(), result.scores.round(6).tolist(), strict=True))


def test_an_active_node_passes_its_score_along_its_best_sentences_each_taken_once():
    # `A B` resembles the question by 0.8, `A C` by 0.6, `B D` by 0.96.
    named = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], bool)
    tri_graph = TriGraph(
        Texts.of(["a", "b", "c", "d"]),
        Texts.of(["A met B", "A met C", "B met D"]),
        csr_matrix(named),
        csr_matrix(np.ones((4, 1), np.int64)),
    )
    vectors = np.array([[0.8, 0.6], [0.6, 0.8], [0.96, 0.28]], np.float32)
    three_sentences = {
        "graph": Graph.from_arrays([], [], names=["a", "b", "c", "d"]),
        "tri_graph": tri_graph,
        "sentence_index": VectorIndex(vectors),
        "embedder": Planted(),
    }
    result, active = alone(activate)(ranked(A), EAST, rounds=1, **three_sentences)
    assert weights(result) == {A: 1.8, B: 0.8}  # A is in its own sentence
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.0]  # 0.8 / 2
    # B passes 0.8 * 0.96 = 0.768 to B and D; A passes 0.8 * 0.6 = 0.48, which is too little.
    result, active = alone(activate)(ranked(A), EAST, rounds=2, **three_sentences)
    assert weights(result) == {A: 1.8, B: 1.568, D: 0.768}
    assert active.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.256]  # 0.768 / 3
    # A has its sentence with C left for the second round: 0.8 * 0.6 = 0.48.
    result, _ = alone(activate)(ranked(A), EAST, rounds=2, threshold=0.4, **three_sentences)
    assert weights(result) == {A: 2.28, B: 1.568, D: 0.768, C: 0.48}
    result, _ = alone(activate)(ranked(A), EAST, rounds=1, sentences_per_node=2, **three_sentences)
    assert weights(result) == {A: 2.4, B: 0.8, C: 0.6}
    other = {**three_sentences, "graph": Graph.from_arrays([], [], n_nodes=3)}
    with pytest.raises(UserError, match="build.graph=entities"):
        alone(activate)(ranked(A), EAST, **other)


def test_a_node_in_two_chunks_weighs_half():
    # A is in two chunks through its relationships, B in one, C in none.
    of_chunks = Graph.from_arrays(
        source=[A, A],
        target=[B, D],
        node_chunk=[[1, 1], [1, 0], [1, 1], [0, 1]],
        relationship_chunk=[[1, 0], [0, 1]],
    )
    result = specificity(ranked(A, B, C, scores=(0.9, 0.6, 0.3)), graph=of_chunks)
    assert weights(result) == {B: 0.6, A: 0.45, C: 0.3}
    assert result.ids.tolist() == [B, A, C]


def scores(*values: float) -> ChunkScores:
    return ChunkScores(np.array(values))


def test_the_least_similar_chunk_has_0_and_the_most_similar_1():
    # Chunks that point east, north-east and west: cosines 1, 0.6 and -1 to `east`.
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float32)
    three_ways = {
        "chunk_index": VectorIndex(vectors),
        "embedder": Planted({"east": (1, 0), "north": (0, 1)}),
    }
    result = alone(similarity)(EAST, **three_ways)
    np.testing.assert_allclose(result.values, [1.0, 0.8, 0.0], atol=1e-6)  # (0.6 + 1) / 2 = 0.8


@pytest.fixture
def chain():
    """A - B with weight 2; A in chunk 0, B in the chunks 0 and 1, C in chunk 2 alone."""
    return Graph.from_arrays(
        source=[A],
        target=[B],
        weight=[2],
        node_chunk=[[1, 0, 0], [1, 1, 0], [0, 0, 1]],
        relationship_chunk=[[1, 0, 0]],
        n_nodes=3,
    )


def step(graph: Graph, **settings) -> list[list[float]]:
    """Where the walk goes from each of the nodes and then of the chunks, in halves and thirds."""
    settings = {"relationships": True, "contains": "one"} | settings
    return walk_with_chunks(graph, **settings).transition.toarray().T.round(6).tolist()


def test_a_node_goes_to_its_neighbours_and_its_chunks_by_weight(chain):
    from_a, from_b, from_c, from_chunk_0, *_ = step(chain)
    assert from_a == [0.0, 0.666667, 0.0, 0.333333, 0.0, 0.0]
    assert from_b == [0.5, 0.0, 0.0, 0.25, 0.25, 0.0]
    assert from_c == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert from_chunk_0 == [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    from_a, from_b, *_ = step(chain, relationships=False)
    assert from_a == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert from_b == [0.0, 0.0, 0.0, 0.5, 0.5, 0.0]
    _, from_b, *_ = step(chain, relationships=False, contains="share")
    assert from_b == [0.0, 0.0, 0.0, 0.333333, 0.666667, 0.0]  # 1/2 and 1


def test_chunks_gain_by_the_walk_what_nodes_and_dense_scores_restart_with(chain):
    nothing = ranked()
    result = alone(chunk_ppr)(nothing, scores(0.5, 1.0, 0.0), graph=chain, damping=0.0)
    assert result.items() == [(1, 1.0), (0, 0.5), (2, 0.0)]
    # Restart: C 1, chunk 1 at 0.05 * 1. Chunk 2 gets 1/3 of C's walk, chunk 1 less than 0.05.
    result = alone(chunk_ppr)(ranked(C), scores(0, 1.0, 0), graph=chain, top_k=1)
    assert result.ids.tolist() == [2]
    heavy = alone(chunk_ppr)(ranked(C), scores(0, 1.0, 0), graph=chain, passage_weight=5.0, top_k=1)
    assert heavy.ids.tolist() == [1]
    # C and its chunk alone: c = 0.5 * p + 0.5, p = 0.5 * c, so c = 2/3 and p = 1/3.
    two = Graph.from_arrays([], [], node_chunk=[[1, 0], [0, 1]], n_nodes=2)
    result = alone(chunk_ppr)(ranked(A, B, scores=(3.0, 1.0)), scores(0, 0), graph=two)
    check(result, [0, 1], [1.0, 1 / 3])
    twice = ranked(A, A, C, scores=(0.2, 1.0, -1.0))
    once = alone(chunk_ppr)(ranked(A), scores(0, 0, -1.0), graph=chain, top_k=3)
    again = alone(chunk_ppr)(twice, scores(0, 0, 0), graph=chain, top_k=3)
    assert again.ids.tolist() == once.ids.tolist()
    assert again.scores.tolist() == once.scores.tolist()


def test_a_chunk_gains_by_what_it_names_and_how_often():
    """Chunk 0: 1.5 * 1 + ln(1 + 1 ln 2) = 2.026589; chunk 1: ln(1 + ln 4 + 0.5 ln 2) = 1.005352."""
    # A is named once in chunk 0 and three times in chunk 1, B once in chunk 1.
    counts = csr_matrix(np.array([[1, 3], [0, 1]], np.int64))
    none = csr_matrix((2, 0), dtype=bool)
    mentions = TriGraph(Texts.of(["a", "b"]), Texts.of([]), none, counts)
    result = alone(activated)(
        scores(1.0, 0.0), NodeScores(np.array([1.0, 0.5])), tri_graph=mentions
    )
    np.testing.assert_allclose(result.values, [2.026589, 1.005352], atol=1e-6)
