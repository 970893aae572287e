"""Hierarchical Leiden on graphs with obvious communities."""

from itertools import combinations

import numpy as np
from builds import chunks_of
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.graphs.communities import leiden, split_by_leiden

CLIQUES = [*combinations(range(3), 2), *combinations(range(3, 6), 2), (2, 3)]
"""Two triangles, 0-1-2 and 3-4-5, joined by the edge 2-3."""


def graph_with(edges, weight=None, node_chunk=None, n_nodes=None) -> Graph:
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return Graph.from_arrays(source, target, node_chunk, weight=weight, n_nodes=n_nodes)


def test_communities_follow_weights_and_leave_out_isolated_nodes():
    for edges, weight, n_nodes, expected in (
        (CLIQUES, None, 6, [[0, 1, 2], [3, 4, 5]]),
        ([(0, 1), (2, 3), (3, 4), (2, 4)], None, 5, [[0, 1], [2, 3, 4]]),
        ([(0, 1), (1, 2), (2, 3)], [9.0, 1.0, 9.0], 4, [[0, 1], [2, 3]]),
        ([(0, 1), (2, 3), (4, 4)], [1.0, 0.0, 1.0], 6, [[0, 1]]),
        *(([], None, n_nodes, []) for n_nodes in (0, 1, 3)),
    ):
        result = leiden(graph=graph_with(edges, weight, n_nodes=n_nodes))
        assert chunks_of(result.nodes) == expected
        assert result.nodes.shape == (len(expected), n_nodes)
        assert not result.level.any() and (result.parent == -1).all()


def test_a_community_that_is_too_large_is_split_one_level_down():
    """Four triangles in a row, fifteen edges, at resolution 0.3.

    In twos 14/15 - 0.3 * 2/4 = 0.78, each by itself about 12/15 - 0.3 * 4/16 = 0.73, all 0.7: twos.
    Within a two, of seven edges, 6/7 - 0.3 * 2/4 = 0.707 against 0.7 for all: it falls apart.
    """
    triangles = [pair for at in (0, 3, 6, 9) for pair in combinations(range(at, at + 3), 2)]
    graph = graph_with([*triangles, (2, 3), (5, 6), (8, 9)])
    result = split_by_leiden(graph, 0xDEADBEEF, 5, 0.3)
    halves = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert chunks_of(result.nodes) == [*halves, [0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert result.level.tolist() == [0, 0, 1, 1, 1, 1]
    assert result.parent.tolist() == [-1, -1, 0, 0, 1, 1]


def test_the_chunks_of_a_community_are_those_of_its_members():
    """Nodes 0, 1, 2 are in chunk 0, node 3 in chunk 1, nodes 4 and 5 in chunk 2."""
    chunks = np.eye(3)[[0, 0, 0, 1, 2, 2]]
    result = leiden(graph=graph_with(CLIQUES, node_chunk=chunks))
    assert result.chunks.toarray().tolist() == [[True, False, False], [False, True, True]]
    assert result.occurrence.tolist() == [0.5, 1.0]
    weighted = graph_with(CLIQUES, node_chunk=csr_matrix(3 * chunks.astype(np.int64)))
    assert (leiden(graph=weighted).chunks != result.chunks).nnz == 0
