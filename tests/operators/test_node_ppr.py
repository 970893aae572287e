"""Personalised PageRank from nodes, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import Node, Ranked
from operators.node.pagerank import ppr

A, B, C, D = range(4)


@pytest.fixture
def path():
    """A - B - C, and D by itself; weights 1."""
    return Graph.from_arrays(source=[A, B], target=[B, C], n_nodes=4)


def seeds(*nodes: int, scores: tuple[float, ...] = ()) -> Ranked[Node]:
    return Ranked(np.array(nodes, np.int64), np.array(scores or [1.0] * len(nodes)))


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
    _, scores = alone(ppr)(seeds(A), graph=path, damping=damping)
    np.testing.assert_allclose(scores.values, mass, atol=1e-6)


def test_the_mass_of_an_isolated_node_goes_back_to_the_seeds(path):
    _, scores = alone(ppr)(seeds(A, D), graph=path)
    np.testing.assert_allclose(scores.values, [0.388889, 0.222222, 0.055556, 0.333333], atol=1e-6)


def test_the_walk_prefers_the_heavier_relationship():
    graph = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3], n_nodes=4)
    _, scores = alone(ppr)(seeds(A), graph=graph)
    np.testing.assert_allclose(scores.values, [0.541667, 0.333333, 0.125, 0.0], atol=1e-6)


def test_parallel_relationships_add_up_and_direction_does_not_count():
    heavy = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3])
    parallel = Graph.from_arrays(source=[A, B, C, B], target=[B, C, B, C])
    of_heavy, of_parallel = (alone(ppr)(seeds(A), graph=graph)[1] for graph in (heavy, parallel))
    np.testing.assert_allclose(of_heavy.values, of_parallel.values)


def test_a_relationship_of_a_node_with_itself_is_not_walked():
    loop = Graph.from_arrays(source=[A, A, B], target=[B, A, C], n_nodes=4)
    _, scores = alone(ppr)(seeds(A), graph=loop)
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.083333, 0.0], atol=1e-6)


def test_the_best_nodes_come_first(path):
    nodes, _ = alone(ppr)(seeds(A), graph=path, top_k=2)
    assert nodes.ids.tolist() == [A, B]
    np.testing.assert_allclose(nodes.scores, [0.583333, 0.333333], atol=1e-6)


def test_without_seeds_the_walk_starts_anywhere(path):
    _, scores = alone(ppr)(Ranked.empty(), graph=path, damping=0.0)
    assert scores.values.tolist() == [0.25, 0.25, 0.25, 0.25]


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
    assert start(in_chunks, seeds(A, C), "specificity") == [0.333333, 0.0, 0.666667, 0.0]


def test_a_seed_without_a_relationship_weighs_as_if_it_were_in_one_chunk(in_chunks):
    assert start(in_chunks, seeds(A, D), "specificity") == [0.333333, 0.0, 0.0, 0.666667]


def test_a_seed_that_two_names_gave_counts_once(in_chunks):
    for reset in ("specificity", "uniform"):
        twice, once = seeds(C, C, D), seeds(C, D)
        assert start(in_chunks, twice, reset) == start(in_chunks, once, reset)


def test_uniform_seeds_weigh_the_same(in_chunks):
    assert start(in_chunks, seeds(A, C), "uniform") == [0.5, 0.0, 0.5, 0.0]


def test_similar_seeds_weigh_by_their_best_score_and_negative_ones_nothing(in_chunks):
    found = seeds(A, A, C, D, scores=(0.3, 0.6, 0.2, -0.5))
    assert start(in_chunks, found, "similarity") == [0.75, 0.0, 0.25, 0.0]


def test_without_weights_every_pair_counts_alike():
    graph = Graph.from_arrays(source=[A, B], target=[B, C], weight=[1, 3], n_nodes=4)
    _, scores = alone(ppr)(seeds(A), graph=graph, weighted=False)
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.083333, 0.0], atol=1e-6)
    _, again = alone(ppr)(seeds(A), graph=graph)
    np.testing.assert_allclose(again.values, [0.541667, 0.333333, 0.125, 0.0], atol=1e-6)


def test_nodes_of_little_mass_are_left_out_and_hand_on_nothing_when_only_the_best_do(path):
    best, scores = alone(ppr)(seeds(A), graph=path, min_mass=0.1, handed_on="best")
    assert best.ids.tolist() == [A, B]
    np.testing.assert_allclose(scores.values, [0.583333, 0.333333, 0.0, 0.0], atol=1e-6)
    best, scores = alone(ppr)(seeds(A), graph=path, min_mass=0.1)
    assert best.ids.tolist() == [A, B]
    assert scores.values[C] > 0.08
