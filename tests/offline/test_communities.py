"""The builder of communities: its settings reach the algorithm."""

import numpy as np

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden

TRIANGLES = Graph.from_arrays(
    [0, 0, 1, 3, 3, 4, 2, 6], [1, 2, 2, 4, 5, 5, 3, 7], node_chunk=np.eye(9), n_nodes=9
)
"""Two triangles joined by an edge, a pair, and a node by itself."""


def members(found: Communities) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in found.nodes.toarray()]


def test_every_component_of_two_nodes_or_more_has_its_communities():
    found = leiden(graph=TRIANGLES)
    assert members(found) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert found.parent.tolist() == [-1, -1, -1]


def test_the_largest_component_alone_is_the_reading_of_the_released_code():
    assert members(leiden(graph=TRIANGLES, use_lcc=True)) == [[0, 1, 2], [3, 4, 5]]


def test_a_low_resolution_leaves_a_component_whole():
    assert members(leiden(graph=TRIANGLES, resolution=0.1)) == [[0, 1, 2, 3, 4, 5], [6, 7]]
