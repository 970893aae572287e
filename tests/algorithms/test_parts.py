"""Parts of a graph between nodes: walks, prizes and trees by hand, and by reference."""

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.paths import khop_paths, prized_subgraph, relationship_prizes

# ---- Paths between nodes, worked out by hand

A, B, C, D, E, F = range(6)


def walks(graph: Graph, *nodes: int, khop: int = 2) -> list[tuple[int, ...]]:
    return [path.nodes for path in khop_paths(graph, nodes, khop)]


@pytest.fixture
def path():
    """A - B - C - D, and E - F apart; the row of B and C is stored from C to B."""
    return Graph.from_arrays([A, C, C, E], [B, B, D, F])


def test_a_walk_goes_on_from_the_node_it_reached(path):
    (result,) = khop_paths(path, [A, C, D], 2)
    assert result.nodes == (A, B, C, D)
    assert result.relationships == (0, 1, 2)


def test_the_walk_starts_at_the_first_node_given(path):
    assert walks(path, C, A, D) == [(C, D)]
    assert walks(path, D, A, C) == [(D, C, B, A)]


def test_the_nearest_node_is_reached_first_and_of_equally_near_ones_the_lowest():
    star = Graph.from_arrays([A, A, A, D], [B, C, D, E])
    assert walks(star, A, E, D) == [(A, D, E)]
    assert walks(star, A, C, B) == [(A, B, A, C)]


def test_of_equally_short_ways_the_one_through_lower_nodes_is_taken():
    square = Graph.from_arrays([A, A, C, B], [C, B, D, D])
    assert walks(square, A, D) == [(A, B, D)]


def test_a_hop_is_the_first_row_of_its_pair():
    parallel = Graph.from_arrays([B, A, B], [C, B, A])
    (result,) = khop_paths(parallel, [A, C], 2)
    assert result.relationships == (1, 0)


@pytest.mark.parametrize("seed", range(6))
def test_hops_are_as_many_as_networkx_says(seed):
    import networkx

    rng = np.random.default_rng(seed)
    graph = Graph.from_arrays(*rng.integers(0, 30, (2, 35)), n_nodes=30)
    start, end = rng.choice(30, 2, replace=False).tolist()
    result, view = walks(graph, start, end, khop=30), graph.igraph.to_networkx()
    if networkx.has_path(view, start, end):
        assert len(result[0]) == networkx.shortest_path_length(view, start, end) + 1
        assert networkx.is_path(view, result[0])
    else:
        assert result == []


# ---- prizes


def test_relationships_earn_prizes_by_their_distinct_similarities():
    """3/2 for the two best; 1.5 * 0.99 - 0.01 = 1.475 for the next, not 2; then 1; then nothing."""
    prizes = relationship_prizes(np.array([0.9, 0.9, 0.7, 0.2, 0.1]), 3)
    np.testing.assert_allclose(prizes, [1.5, 1.5, 1.475, 1.0, 0.0])


# ---- the subgraph


@pytest.fixture
def chain():
    """A - B - C - D, every row once."""
    return Graph.from_arrays([A, B, C], [B, C, D])


def prized(graph, node_prizes, prizes, cost=0.5):
    nodes, rows = prized_subgraph(graph, np.array(node_prizes, float), np.array(prizes), cost)
    return nodes.tolist(), rows.tolist()


def test_prized_nodes_are_joined_over_the_nodes_between(chain):
    assert prized(chain, [2, 0, 1, 0], [0.0, 0.0, 0.0]) == ([A, B, C], [0, 1])


def test_a_prized_relationship_comes_with_both_of_its_ends(chain):
    """The row of C and D has a node in its middle with a prize of 1.99 - 0.5."""
    assert prized(chain, [0, 0, 0, 0], [0.0, 0.0, 1.99]) == ([C, D], [2])


def test_a_small_prize_makes_a_relationship_cheaper(chain):
    """A row costs about 0.5, more than B is worth; a prize of 0.4 leaves 0.1 of it."""
    assert prized(chain, [5, 0.2, 0, 0], [0.0, 0.0, 0.5]) == ([A], [])
    assert prized(chain, [5, 0.2, 0, 0], [0.4, 0.0, 0.5]) == ([A, B], [0])


def test_of_two_rows_of_one_pair_the_prized_one_is_chosen():
    parallel = Graph.from_arrays([A, B], [B, A])
    assert prized(parallel, [1, 1], [0.0, 0.9]) == ([A, B], [1])
