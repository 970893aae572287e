"""The prize-collecting Steiner tree: prizes and small trees by hand, large ones by reference."""

import itertools

import numpy as np
import pytest

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.steiner import prize_collecting_tree, prized_subgraph, relationship_prizes

A, B, C, D = range(4)

# ---- prizes


def test_relationships_earn_prizes_by_their_distinct_similarities():
    """3/2 for the two best; 1.5 * 0.99 - 0.01 = 1.475 for the next, not 2; then 1; then nothing."""
    prizes = relationship_prizes(np.array([0.9, 0.9, 0.7, 0.2, 0.1]), 3)
    np.testing.assert_allclose(prizes, [1.5, 1.5, 1.475, 1.0, 0.0])


def test_the_first_prize_is_a_little_less_than_the_number_of_values():
    np.testing.assert_allclose(relationship_prizes(np.array([0.9]), 3), [2.99])


def test_similarities_are_compared_by_six_decimals_and_in_any_order():
    prizes = relationship_prizes(np.array([0.2, 0.90000001, 0.9]), 2)
    np.testing.assert_allclose(prizes, [0.98, 1.0, 1.0])


def test_no_relationships_earn_no_prizes():
    assert relationship_prizes(np.zeros(0), 3).tolist() == []


# ---- the tree


def tree(ends, prizes, costs):
    return prize_collecting_tree(
        np.array(ends, np.int64).reshape(-1, 2), np.array(prizes, float), np.array(costs, float)
    )


def test_two_prizes_are_joined_when_they_are_worth_the_way():
    assert tree([(A, B), (B, C)], [3, 0, 3], [1, 1]) == ([A, B, C], [0, 1])


def test_a_prize_that_is_not_worth_the_way_is_left():
    assert tree([(A, B), (B, C)], [3, 0, 0.5], [1, 1]) == ([A], [])


def test_what_was_reached_at_rest_is_cut_off_again():
    """D is reached by the growth from A, but nothing behind it is prized."""
    assert tree([(A, B), (B, C), (A, D)], [3, 0, 3, 0], [1, 1, 1]) == ([A, B, C], [0, 1])


def test_the_cheaper_of_two_ways_is_taken():
    ends = [(A, B), (B, D), (A, C), (C, D)]
    assert tree(ends, [5, 0, 0, 5], [2, 2, 1, 1]) == ([A, C, D], [2, 3])


def test_parts_that_are_not_connected_give_the_better_one():
    assert tree([(A, B), (C, D)], [1, 1, 5, 5], [1, 1]) == ([C, D], [1])


def test_without_prizes_or_edges_there_is_little_to_find():
    assert tree([(A, B)], [0, 0], [1]) == ([], [])
    assert tree([], [1, 2], []) == ([1], [])
    assert tree([], [], []) == ([], [])


def random_instance(seed: int, n_nodes: int, n_edges: int):
    """Ends, prizes and costs in which no two sums are equal; some nodes without a prize."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_nodes, (n_edges, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    prizes = rng.uniform(0.1, 3.0, n_nodes) * (rng.random(n_nodes) < rng.uniform(0.1, 1.0))
    return ends, prizes, rng.uniform(0.01, 2.0, len(ends))


def loss(ends, prizes, costs, nodes, edges) -> float:
    return float(costs[edges].sum() + prizes.sum() - prizes[nodes].sum())


def test_of_two_equal_ways_the_one_with_the_earlier_edge_is_taken():
    ways = {C: [(A, C), (C, D)], B: [(A, B), (B, D)]}
    for first, second in ((B, C), (C, B)):
        ends = [*ways[first], *ways[second]]
        assert tree(ends, [5, 0, 0, 5], [1, 1, 1, 1]) == ([A, first, D], [0, 1])


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_is_a_tree_and_at_most_twice_as_dear_as_the_best_one(seed):
    networkx = pytest.importorskip("networkx")
    ends, prizes, costs = random_instance(seed, 6, 9)
    nodes, edges = prize_collecting_tree(ends, prizes, costs)
    graph = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(ends[edges].tolist())
    assert not nodes or networkx.is_tree(graph)
    assert set(graph) == set(nodes)
    least = min(
        loss(ends, prizes, costs, list(chosen), spanning(networkx, ends, costs, chosen))
        for size in range(7)
        for chosen in itertools.combinations(range(6), size)
        if is_connected(networkx, ends, chosen)
    )
    assert loss(ends, prizes, costs, nodes, edges) <= 2 * least + 1e-9


def inside(networkx, ends, chosen):
    graph = networkx.Graph()
    graph.add_nodes_from(chosen)
    graph.add_edges_from(pair for pair in ends.tolist() if set(pair) <= set(chosen))
    return graph


def is_connected(networkx, ends, chosen) -> bool:
    return not chosen or networkx.is_connected(inside(networkx, ends, chosen))


def spanning(networkx, ends, costs, chosen) -> list[int]:
    """The edges of a least spanning tree of these nodes."""
    graph = networkx.MultiGraph()
    graph.add_nodes_from(chosen)
    for edge, pair in enumerate(ends.tolist()):
        if set(pair) <= set(chosen):
            graph.add_edge(*pair, weight=costs[edge], edge=edge)
    found = networkx.minimum_spanning_edges(graph, keys=False, data=True)
    return [data["edge"] for _, _, data in found]


# ---- the subgraph


@pytest.fixture
def path():
    """A - B - C - D, every row once."""
    return Graph.from_arrays([A, B, C], [B, C, D])


def found(graph, node_prizes, prizes, cost=0.5):
    nodes, rows = prized_subgraph(graph, np.array(node_prizes, float), np.array(prizes), cost)
    return nodes.tolist(), rows.tolist()


def test_prized_nodes_are_joined_over_the_nodes_between(path):
    assert found(path, [2, 0, 1, 0], [0.0, 0.0, 0.0]) == ([A, B, C], [0, 1])


def test_a_prized_relationship_comes_with_both_of_its_ends(path):
    """The row of C and D has a node in its middle with a prize of 1.99 - 0.5."""
    assert found(path, [0, 0, 0, 0], [0.0, 0.0, 1.99]) == ([C, D], [2])


def test_a_small_prize_makes_a_relationship_cheaper(path):
    """A row costs about 0.5, more than B is worth; a prize of 0.4 leaves 0.1 of it."""
    assert found(path, [5, 0.2, 0, 0], [0.0, 0.0, 0.5]) == ([A], [])
    assert found(path, [5, 0.2, 0, 0], [0.4, 0.0, 0.5]) == ([A, B], [0])


def test_rows_cost_no_more_than_the_best_prize_earns():
    """Rows cost 0.199, not 0.5: the best prize is 0.2."""
    path = Graph.from_arrays([A, B], [B, C])
    assert found(path, [5, 0, 0.45], [0.2, 0.0]) == ([A, B, C], [0, 1])


def test_a_relationship_of_a_node_with_itself_is_left_out():
    loop = Graph.from_arrays([A, A], [A, B])
    assert found(loop, [1, 1], [0.9, 0.0]) == ([A, B], [1])


def test_of_two_rows_of_one_pair_the_prized_one_is_chosen():
    parallel = Graph.from_arrays([A, B], [B, A])
    assert found(parallel, [1, 1], [0.0, 0.9]) == ([A, B], [1])
