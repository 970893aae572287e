"""Hierarchical Leiden on graphs whose communities can be seen by eye."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from small_worlds import said_by_a_process

from graphrag_bench.fingerprint import digest
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden

CLIQUES = [*combinations(range(3), 2), *combinations(range(3, 6), 2), (2, 3)]
"""Two triangles, 0-1-2 and 3-4-5, joined by the edge 2-3."""


def graph(edges, weight=None, node_chunk=None, n_nodes=None) -> Graph:
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return Graph.from_arrays(source, target, node_chunk, weight=weight, n_nodes=n_nodes)


def communities(made: Graph, **other) -> Communities:
    return leiden(graph=made, **other)


def members(found: Communities) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in found.nodes.toarray()]


def ring(n_cliques: int, size: int) -> list[tuple[int, int]]:
    """Cliques in a ring, each joined to the next by one edge."""
    starts = [clique * size for clique in range(n_cliques)]
    inside = [pair for at in starts for pair in combinations(range(at, at + size), 2)]
    return inside + [*pairwise(starts), (starts[-1], starts[0])]


def test_two_cliques_joined_by_an_edge_are_two_communities():
    found = communities(graph(CLIQUES))
    assert members(found) == [[0, 1, 2], [3, 4, 5]]
    assert found.level.tolist() == [0, 0]
    assert found.parent.tolist() == [-1, -1]


def test_weights_decide_where_the_border_runs():
    """Of the path 0-1-2-3 the outer edges hold, and then the inner one."""
    path = [(0, 1), (1, 2), (2, 3)]
    assert members(communities(graph(path, [9.0, 1.0, 9.0]))) == [[0, 1], [2, 3]]
    heavy = members(communities(graph(path, [1.0, 99.0, 1.0])))
    assert any({1, 2} <= set(community) for community in heavy)


def test_a_community_that_is_too_large_is_split_one_level_down_and_names_its_parent():
    """Four triangles in a row, fifteen edges, at resolution 0.3.

    In twos 14/15 - 0.3 * 2/4 = 0.78, each by itself about 12/15 - 0.3 * 4/16 = 0.73, all 0.7: twos.
    Within a two, of seven edges, 6/7 - 0.3 * 2/4 = 0.707 against 0.7 for all: it falls apart.
    """
    triangles = [pair for at in (0, 3, 6, 9) for pair in combinations(range(at, at + 3), 2)]
    made = graph([*triangles, (2, 3), (5, 6), (8, 9)])
    found = communities(made, max_cluster_size=5, resolution=0.3)
    halves = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert members(found) == [*halves, [0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert found.level.tolist() == [0, 0, 1, 1, 1, 1]
    assert found.parent.tolist() == [-1, -1, 0, 0, 1, 1]


def test_a_community_that_cannot_be_split_stays_however_large():
    found = communities(graph(CLIQUES), max_cluster_size=3, resolution=0.1)
    assert members(found) == [[0, 1, 2, 3, 4, 5]]


def test_each_level_holds_a_node_once_and_level_zero_all_that_have_an_edge():
    found = communities(graph(ring(12, 3), n_nodes=38), max_cluster_size=5)
    counts = found.nodes.toarray().astype(int)
    assert counts[found.level == 0].sum(axis=0).tolist() == [1] * 36 + [0, 0]
    for level in range(int(found.level.max()) + 1):
        assert counts[found.level == level].sum(axis=0).max() == 1


def test_rows_are_in_order_of_level_parent_and_lowest_member():
    found = communities(graph(ring(12, 3)), max_cluster_size=5)
    first = [row[0] for row in members(found)]
    keys = list(zip(found.level.tolist(), found.parent.tolist(), first, strict=True))
    assert keys == sorted(keys)


def test_nodes_without_a_positive_edge_are_in_no_community():
    found = communities(graph([(0, 1), (2, 3), (4, 4)], [1.0, 0.0, 1.0], n_nodes=6))
    assert members(found) == [[0, 1]]


def test_components_are_partitioned_each_by_itself_or_the_largest_alone():
    made = graph([(0, 1), (2, 3), (3, 4), (2, 4)])
    assert members(communities(made)) == [[0, 1], [2, 3, 4]]
    assert members(communities(made, use_lcc=True)) == [[2, 3, 4]]
    even = graph([(0, 1), (2, 3)])
    assert members(communities(even, use_lcc=True)) == [[0, 1]]


def test_a_low_resolution_leaves_a_component_whole():
    made = graph([*CLIQUES, (6, 7)], n_nodes=9)
    assert members(communities(made, resolution=0.1)) == [[0, 1, 2, 3, 4, 5], [6, 7]]


def test_the_chunks_of_a_community_are_those_of_its_members():
    """Nodes 0, 1, 2 are in chunk 0, node 3 in chunk 1, nodes 4 and 5 in chunk 2."""
    chunks = np.eye(3)[[0, 0, 0, 1, 2, 2]]
    found = communities(graph(CLIQUES, node_chunk=chunks))
    assert found.chunks.toarray().tolist() == [[True, False, False], [False, True, True]]
    assert found.occurrence.tolist() == [0.5, 1.0]


def test_chunks_with_weights_count_as_present():
    chunks = np.eye(3)[[0, 0, 0, 1, 2, 2]]
    plain = graph(CLIQUES, node_chunk=chunks)
    weighted = replace(plain, node_chunk=plain.node_chunk.astype(np.int64) * 3)
    found = communities(weighted).chunks
    assert found.dtype == bool
    assert (found != communities(plain).chunks).nnz == 0


@pytest.mark.parametrize("n_nodes", [0, 1, 3])
def test_a_graph_without_an_edge_has_no_community(n_nodes):
    found = communities(graph([], n_nodes=n_nodes))
    assert len(found) == 0
    assert found.nodes.shape == (0, n_nodes)


def test_rows_that_say_the_same_in_another_order_give_the_same_communities():
    edges = ring(12, 3)
    turned = [(b, a) for a, b in reversed(edges)]
    assert members(communities(graph(edges))) == members(communities(graph(turned)))


def digest_of_communities() -> str:
    found = communities(graph(ring(30, 4)), max_cluster_size=5)
    return digest([found.level.tolist(), found.parent.tolist(), members(found)])


def test_communities_do_not_depend_on_the_hash_seed():
    statement = (
        "import sys; sys.path.insert(0, 'tests/offline');"
        "import test_leiden as t; print(t.digest_of_communities())"
    )
    here = digest_of_communities()
    assert [said_by_a_process(statement, seed) for seed in (1, 2)] == [here, here]
