"""Random walks, and forward push compared with the exact solution."""

import numpy as np
import pytest

from graphrag_bench.algorithms import pagerank
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import Reset, personalised_pagerank, pushed_pagerank
from graphrag_bench.values import Node, NodeScores, Ranked


def random_walk(seed, n_nodes=200, n_relationships=300):
    """A graph with hubs, weights from 0.1 to 3, and isolated nodes."""
    rng = np.random.default_rng(seed)
    ends = (n_nodes * rng.random((2, n_relationships)) ** 2).astype(np.int64)
    graph = Graph.from_arrays(*ends, weight=rng.uniform(0.1, 3.0, n_relationships), n_nodes=n_nodes)
    return pagerank.walk_of_nodes(graph)


def dense(mass, n_nodes: int) -> np.ndarray:
    values = np.zeros(n_nodes)
    values[mass.rows] = mass.values
    return values


def solved(walk, reset, damping):
    lost = np.outer(reset, walk.strength == 0)
    step = walk.transition.toarray() + lost
    return np.linalg.solve(np.eye(len(walk)) - damping * step, (1 - damping) * reset)


def test_no_mass_is_off_by_more_than_the_bound():
    walk = random_walk(0)
    rows = np.array([0, 1, 150, walk.isolated[0]])
    reset = np.zeros(len(walk))
    reset[rows] = [0.4, 0.3, 0.2, 0.1]
    for damping in (0.0, 0.5, 0.85, 0.99):
        exact = solved(walk, reset, damping)
        for error in (1e-2, 1e-3, 1e-5):
            result = pushed_pagerank(walk, Reset(rows, 5 * reset[rows]), damping, 2, error=error)
            off = np.abs(dense(result, len(walk)) - exact)
            assert (off <= error * walk.strength / walk.strength.mean() + 1e-12).all()


@pytest.mark.parametrize("damping", [0.0, 0.85, 0.999])
def test_the_compiled_step_returns_the_same_bits(damping, monkeypatch):
    """With damping 0.999 the walk needs thousands of iterations."""
    walk = random_walk(3)
    reset = np.random.default_rng(4).random((len(walk), 5)) * (np.arange(5) != 2)
    reset[:, 4] = np.eye(len(walk))[walk.isolated[0]]
    expected = personalised_pagerank(walk, reset, damping)
    exact = solved(walk, reset[:, 0] / reset[:, 0].sum(), damping)
    assert expected[:, 0] == pytest.approx(exact, abs=2e-10 / (1 - damping))
    monkeypatch.setattr(pagerank, "_IN_CACHE", 0)
    assert np.array_equal(personalised_pagerank(walk, reset, damping), expected)


def test_one_push_worked_out_by_hand():
    """A - B - C; strengths 1, 2, 1, mean 4/3. The border is 0.25 / (4/3) = 0.1875.

    A keeps 0.5 and B gets the residual 0.5, 0.25 by strength: above the border, so B is pushed too:
    it keeps 0.25, A and C get 0.125 each, which stays. By strength a node is then given 0.5 of its
    own residual, 0.25 of the mean around it (0.125 for B, 0 for A and C), and 0.25 of 0.25 / 4, the
    residual of all by the strength of all.
    """
    walk = pagerank.walk_of_nodes(Graph.from_arrays([0, 1], [1, 2]))
    result = pushed_pagerank(walk, Reset(np.array([0]), np.ones(1)), 0.5, 3, error=0.25)
    a = 0.5 + 0.5 * 0.125 + 0.25 * 0.0625
    b = 2 * (0.125 + 0.25 * 0.125 + 0.25 * 0.0625)
    c = 0.5 * 0.125 + 0.25 * 0.0625
    np.testing.assert_allclose(dense(result, 3), [a, b, c])


def test_pushes_are_independent_and_a_reset_without_weight_is_exact(monkeypatch):
    monkeypatch.setattr(pagerank, "EXACT_UP_TO", 0)
    walk, nothing = random_walk(1), Reset(np.zeros(0, int), np.zeros(0))
    resets = [Reset(np.array([row]), np.ones(1)) for row in (3, 0, 3)]
    first, _, third, uniform = pagerank.masses(walk, [*resets, nothing], 0.85, 5)
    single = pushed_pagerank(walk, resets[0], 0.85, 5)
    for result in (first, third):
        assert np.array_equal(result.rows, single.rows)
        assert np.array_equal(result.values, single.values)
    assert np.array_equal(uniform.values, personalised_pagerank(walk, np.zeros(len(walk)), 0.85))


def test_sparse_scores_rank_like_the_dense_vector():
    sparse = NodeScores.sparse(np.array([4, 1, 6]), np.array([0.5, -1.0, 0.5]), 8)
    assert sparse.values.tolist() == [0, -1.0, 0, 0, 0.5, 0, 0.5, 0]
    for k in range(1, 10):
        expected = Ranked[Node].top(sparse.values, k)
        assert sparse.top(k).ids.tolist() == expected.ids.tolist()
        assert sparse.top(k).scores.tolist() == expected.scores.tolist()
