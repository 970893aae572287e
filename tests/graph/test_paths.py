"""Paths between nodes, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.paths import khop_paths, triple

A, B, C, D, E, F = range(6)


def walks(graph: Graph, *nodes: int, khop: int = 2) -> list[tuple[int, ...]]:
    return [path.nodes for path in khop_paths(graph, nodes, khop)]


@pytest.fixture
def path():
    """A - B - C - D, and E - F apart; the row of B and C is stored from C to B."""
    return Graph.from_arrays([A, C, C, E], [B, B, D, F])


def test_a_walk_goes_on_from_the_node_it_reached(path):
    (found,) = khop_paths(path, [A, C, D], 2)
    assert found.nodes == (A, B, C, D)
    assert found.relationships == (0, 1, 2)


def test_nodes_of_two_components_are_joined_by_no_path(path):
    assert walks(path, A, E) == []
    assert walks(path, A, C, E, F) == [(A, B, C), (E, F)]


def test_a_node_too_far_away_is_not_reached(path):
    assert walks(path, A, D) == []
    assert walks(path, A, D, khop=3) == [(A, B, C, D)]


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


def test_a_node_on_the_way_starts_no_walk_of_its_own(path):
    assert walks(path, A, B, C) == [(A, B, C)]


def test_a_walk_never_lies_within_another(path):
    """A walk ends only where no node left is within reach, so none left can be reached over it."""
    line = Graph.from_arrays([A, C, D], [C, D, F], n_nodes=6)
    assert walks(line, C, D, A, F, khop=1) == [(C, A), (D, F)]
    assert walks(line, D, C, A, F, khop=3) == [(D, C, A, C, D, F)]


def test_nodes_given_twice_or_alone_or_not_at_all_give_no_path(path):
    assert walks(path, A, A) == walks(path, A) == walks(path) == []
    assert walks(Graph.from_arrays([], [], n_nodes=2), 0, 1) == []


def test_a_hop_is_the_first_row_of_its_pair():
    parallel = Graph.from_arrays([B, A, B], [C, B, A])
    (found,) = khop_paths(parallel, [A, C], 2)
    assert found.relationships == (1, 0)


@pytest.mark.parametrize("seed", range(6))
def test_hops_are_as_many_as_networkx_says(seed):
    import networkx

    rng = np.random.default_rng(seed)
    graph = Graph.from_arrays(*rng.integers(0, 30, (2, 35)), n_nodes=30)
    start, end = rng.choice(30, 2, replace=False).tolist()
    found = walks(graph, start, end, khop=30)
    if networkx.has_path(graph.networkx, start, end):
        assert len(found[0]) == networkx.shortest_path_length(graph.networkx, start, end) + 1
        assert networkx.is_path(graph.networkx, found[0])
    else:
        assert found == []


def test_a_triple_is_written_as_it_is_stored(path):
    assert triple(path, 1) == ("node 2", "related to", "node 1")
