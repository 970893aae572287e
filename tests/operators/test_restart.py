"""Where a walk restarts: weights of nodes by how few chunks name them, and of similar chunks."""

import numpy as np

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import ChunkScores, Node, Ranked
from operators.restart import chunk_restart, node_restart

GRAPH = Graph.from_arrays([], [], names=list("abc"), node_chunk=[[1, 1, 1], [1, 0, 0], [0, 0, 0]])


def shares(*scores: float, n_dense: int) -> list[float]:
    return chunk_restart(ChunkScores(np.array(scores)), n_dense=n_dense).values.round(6).tolist()


def test_a_node_in_three_chunks_restarts_a_third_as_often_as_a_node_in_one() -> None:
    found = node_restart(Ranked[Node](np.array([0, 1]), np.ones(2)), graph=GRAPH)
    assert found.ids.tolist() == [1, 0]
    np.testing.assert_allclose(found.scores, [0.75, 0.25])


def test_a_weight_of_an_edge_is_no_further_chunk() -> None:
    weighed = Graph.from_arrays([], [], names=list("ab"), node_chunk=[[1, 1], [1, 0]])
    weighed.node_chunk.data = np.array([3, 1, 3])
    found = node_restart(Ranked[Node](np.array([0, 1]), np.ones(2)), graph=weighed)
    np.testing.assert_allclose(found.scores, [2 / 3, 1 / 3])


def test_a_node_in_no_chunk_counts_as_in_one_and_of_a_node_given_twice_the_best_counts() -> None:
    given = Ranked[Node](np.array([2, 1, 2]), np.array([0.5, 1.0, 1.0]))
    found = node_restart(given, graph=GRAPH)
    assert (found.ids.tolist(), found.scores.tolist()) == ([1, 2], [0.5, 0.5])


def test_nodes_of_score_0_stay_so_and_no_nodes_give_none() -> None:
    nothing = node_restart(Ranked[Node](np.array([1]), np.array([-1.0])), graph=GRAPH)
    assert nothing.scores.tolist() == [0.0]
    assert len(node_restart(Ranked[Node].empty(), graph=GRAPH)) == 0


def test_chunks_restart_by_how_far_they_are_above_the_last_of_the_best() -> None:
    assert shares(0.5, 0.9, 0.2, 0.6, n_dense=3) == [0.0, 0.8, 0.0, 0.2]


def test_with_fewer_chunks_the_last_of_all_counts() -> None:
    assert shares(0.1, 0.4, n_dense=200) == [0.0, 1.0]


def test_chunks_that_are_alike_have_equal_shares() -> None:
    assert shares(0.3, 0.3, n_dense=200) == [0.5, 0.5]
    assert shares(0.3, 0.9, n_dense=1) == [0.0, 1.0]
    assert shares(n_dense=5) == []
