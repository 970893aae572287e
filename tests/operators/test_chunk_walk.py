"""Chunks scored by the question, and by a walk in which they take part, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.bipartite import TriGraph
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import walk_with_chunks
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import ChunkScores, NodeScores, Question, Ranked
from operators.chunk.ppr import activated, ppr
from operators.chunk.search import similarity

A, B, C = range(3)
ASKED = Question("q", "east")


@pytest.fixture
def three_ways():
    """Chunks that point east, north-east and west: cosines 1, 0.6 and -1 to `east`."""
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float32)
    return {
        "chunk_index": VectorIndex(vectors),
        "embedder": Planted({"east": (1, 0), "north": (0, 1)}),
    }


def scores(*values: float) -> ChunkScores:
    return ChunkScores(np.array(values))


def seeds(**weights: float):
    named = {"a": A, "b": B, "c": C}
    rows = [named[name] for name in weights]
    return Ranked(np.array(rows, np.int64), np.array(list(weights.values())))


# ---- similarity of every chunk


def test_the_least_similar_chunk_has_0_and_the_most_similar_1(three_ways):
    found = alone(similarity)(ASKED, **three_ways)
    np.testing.assert_allclose(found.values, [1.0, 0.8, 0.0], atol=1e-6)  # (0.6 + 1) / 2 = 0.8


# ---- the walk


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


def test_without_relationships_a_node_goes_to_its_chunks_alone(chain):
    from_a, from_b, *_ = step(chain, relationships=False)
    assert from_a == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert from_b == [0.0, 0.0, 0.0, 0.5, 0.5, 0.0]


def test_the_more_nodes_a_chunk_has_the_less_it_draws_each(chain):
    _, from_b, *_ = step(chain, relationships=False, contains="share")
    assert from_b == [0.0, 0.0, 0.0, 0.333333, 0.666667, 0.0]  # 1/2 and 1


def test_without_damping_the_mass_is_the_restart(chain):
    nothing = seeds()
    found = alone(ppr)(nothing, scores(0.5, 1.0, 0.0), graph=chain, damping=0.0)
    assert found.ids.tolist() == [1, 0, 2]
    assert found.scores.tolist() == [1.0, 0.5, 0.0]


def test_dense_scores_weigh_little_beside_nodes(chain):
    """Restart: C 1, chunk 1 at 0.05 * 1. Chunk 2 gets 1/3 of C's walk, chunk 1 less than 0.05."""
    found = alone(ppr)(seeds(c=1.0), scores(0, 1.0, 0), graph=chain, top_k=1)
    assert found.ids.tolist() == [2]
    heavy = alone(ppr)(seeds(c=1.0), scores(0, 1.0, 0), graph=chain, passage_weight=5.0, top_k=1)
    assert heavy.ids.tolist() == [1]


def test_the_mass_of_two_places_is_that_of_their_equations(chain):
    """C and its chunk alone: c = 0.5 * p + 0.5, p = 0.5 * c, so c = 2/3 and p = 1/3."""
    two = Graph.from_arrays([], [], node_chunk=[[1, 0], [0, 1]], n_nodes=2)
    found = alone(ppr)(seeds(a=3.0, b=1.0), scores(0, 0), graph=two)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [1.0, 1 / 3], atol=1e-6)


def test_negative_scores_count_as_0_and_the_best_of_a_node_given_twice(chain):
    twice = Ranked(np.array([A, A, C]), np.array([0.2, 1.0, -1.0]))
    once = alone(ppr)(seeds(a=1.0), scores(0, 0, -1.0), graph=chain, top_k=3)
    again = alone(ppr)(twice, scores(0, 0, 0), graph=chain, top_k=3)
    assert again.ids.tolist() == once.ids.tolist()
    assert again.scores.tolist() == once.scores.tolist()


# ---- the bonus of active nodes


@pytest.fixture
def mentions():
    """A is named once in chunk 0 and three times in chunk 1, B once in chunk 1."""
    counts = csr_matrix(np.array([[1, 3], [0, 1]], np.int64))
    none = csr_matrix((2, 0), dtype=bool)
    return TriGraph(Texts.of(["a", "b"]), Texts.of([]), none, counts)


def test_a_chunk_gains_by_what_it_names_and_how_often(mentions):
    """Chunk 0: 1.5 * 1 + ln(1 + 1 ln 2) = 2.026589; chunk 1: ln(1 + ln 4 + 0.5 ln 2) = 1.005352."""
    found = alone(activated)(scores(1.0, 0.0), NodeScores(np.array([1.0, 0.5])), tri_graph=mentions)
    np.testing.assert_allclose(found.values, [2.026589, 1.005352], atol=1e-6)
