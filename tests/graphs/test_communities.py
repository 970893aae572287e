"""Communities: hierarchical Leiden seen by eye, and structure with meaning by hand."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from builds import QUIET, chunks_of
from by_hand import Planted
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.graphs.communities import (
    _Detection,
    _leading_to,
    dual,
    keywords_of,
    leiden,
    subgraph_texts,
)

CLIQUES = [*combinations(range(3), 2), *combinations(range(3, 6), 2), (2, 3)]
"""Two triangles, 0-1-2 and 3-4-5, joined by the edge 2-3."""


def graph_with(edges, weight=None, node_chunk=None, n_nodes=None) -> Graph:
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return Graph.from_arrays(source, target, node_chunk, weight=weight, n_nodes=n_nodes)


def members(result: Communities) -> list[list[int]]:
    return chunks_of(result.nodes)


@pytest.mark.parametrize(
    ("edges", "weight", "n_nodes", "expected"),
    [
        (CLIQUES, None, 6, [[0, 1, 2], [3, 4, 5]]),
        ([(0, 1), (2, 3), (3, 4), (2, 4)], None, 5, [[0, 1], [2, 3, 4]]),
        ([(0, 1), (1, 2), (2, 3)], [9.0, 1.0, 9.0], 4, [[0, 1], [2, 3]]),
        ([(0, 1), (2, 3), (4, 4)], [1.0, 0.0, 1.0], 6, [[0, 1]]),
        *(([], None, n_nodes, []) for n_nodes in (0, 1, 3)),
    ],
)
def test_communities_are_joined_by_weight_and_have_nodes_with_an_edge_alone(
    edges, weight, n_nodes, expected
):
    result = leiden(graph=graph_with(edges, weight, n_nodes=n_nodes))
    assert members(result) == expected
    assert result.nodes.shape == (len(expected), n_nodes)
    assert result.level.tolist() == [0] * len(expected)
    assert result.parent.tolist() == [-1] * len(expected)


def test_a_community_that_is_too_large_is_split_one_level_down_and_names_its_parent():
    """Four triangles in a row, fifteen edges, at resolution 0.3.

    In twos 14/15 - 0.3 * 2/4 = 0.78, each by itself about 12/15 - 0.3 * 4/16 = 0.73, all 0.7: twos.
    Within a two, of seven edges, 6/7 - 0.3 * 2/4 = 0.707 against 0.7 for all: it falls apart.
    """
    triangles = [pair for at in (0, 3, 6, 9) for pair in combinations(range(at, at + 3), 2)]
    graph = graph_with([*triangles, (2, 3), (5, 6), (8, 9)])
    result = leiden(graph=graph, max_cluster_size=5, resolution=0.3)
    halves = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert members(result) == [*halves, [0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
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


def plain_graph(source, target, n_nodes: int) -> Graph:
    return Graph.from_arrays(source, target, np.eye(n_nodes), n_nodes=n_nodes)


def detection(graph: Graph, vectors, **settings) -> _Detection:
    inputs = {
        "struct_weight": 0.3, "members_per_cluster": 10, "most_clusters": 200,
        "min_similarity": 0.5, "most_members": 100, "seed": 0, **settings,
    }  # fmt: skip
    return _Detection(graph, np.asarray(vectors, np.float64), _leading_to(graph), **inputs)


def test_a_node_states_its_triples_as_a_head_and_its_attributes_or_else_its_name() -> None:
    graph = replace(
        plain_graph([0, 0], [1, 1], 3),
        names=Texts.of(["ada", "bo", "cy"]),
        node_attributes=NodeAttributes.of([(1, "born", "1867", (0,))], 3),
    )
    assert subgraph_texts(graph) == ["ada related to bo", "bo born: 1867", "cy"]


def test_a_keyword_is_well_connected_and_near_the_mean() -> None:
    """Degrees 2, 1, 1 by the largest: 1, 1/2, 1/2. Vectors at 0, 0 and 90 degrees: the mean is
    (2/3, 1/3), of cosine 2/sqrt(5) = 0.894 with the first two and 0.447 with the last.

    node 0: 0.3 + 0.7 * 0.894 = 0.926; node 1: 0.15 + 0.626 = 0.776; node 2: 0.15 + 0.313 = 0.463
    """
    graph = plain_graph([0, 0], [1, 2], 3)
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    result = keywords_of(graph, vectors, np.arange(3), 0.3, 3)
    assert result.ids.tolist() == [0, 1, 2]
    assert result.scores == pytest.approx([0.926, 0.776, 0.463], abs=1e-3)
    assert keywords_of(graph, vectors, np.arange(3), 0.3, 1).ids.tolist() == [0]


def test_similarity_is_shared_targets_and_the_cosine_of_what_is_stated() -> None:
    """0 leads to 2 and 3, 1 to 3 alone: Jaccard 1/2. Cosine 0.6: 0.3 / 2 + 0.7 * 0.6 = 0.57."""
    graph = plain_graph([0, 0, 1], [2, 3, 3], 4)
    vectors = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 1.0]]
    similar = detection(graph, vectors)._similarity(np.array([0, 1]))
    assert similar[0, 1] == pytest.approx(0.57)
    assert detection(graph, vectors, struct_weight=1.0)._similarity(np.array([0, 1]))[0, 1] == 0.5
    apart = detection(graph, vectors)._similarity(np.array([2, 3]))
    assert apart[0, 1] == pytest.approx(0.7)  # neither leads anywhere: no structure in common


PARTS = [np.array([0]), np.array([1]), np.array([2, 3])]
AT = {0: 0, 1: 50, 2: 80, 3: 80}
"""The direction of each node in degrees: cosines of 0.643 (0, 1), 0.866 (1, 2), 0.174 (0, 2)."""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[0], [1, 2, 3]]),
        ({"min_similarity": 0.9}, [[0], [1], [2, 3]]),
        ({"most_members": 2}, [[0, 1], [2, 3]]),
    ],
)
def test_the_most_similar_parts_are_merged_each_once(settings, expected) -> None:
    """Without structure 0.7 * cosine would be too little for 0 and 1: struct_weight is 0."""
    angles = np.radians([AT[node] for node in range(4)])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    result = detection(plain_graph([], [], 4), vectors, struct_weight=0.0, **settings)
    assert [sorted(part.tolist()) for part in result.merged(PARTS)] == expected


def test_few_or_equal_nodes_are_one_cluster() -> None:
    result = detection(plain_graph([], [], 4), [[1.0, 0.0]] * 4)
    assert [one.tolist() for one in result.clusters(np.array([0, 1]))] == [[0, 1]]
    assert [one.tolist() for one in result.clusters(np.arange(4))] == [[0, 1, 2, 3]]
    assert result.clusters(np.zeros(0, np.int64)) == []


SIDES = Planted(lambda text: (1.0, 0.0) if "a" in text else (0.0, 1.0))
"""Texts with an `a` lie on one axis, others on another."""


def test_nodes_that_state_alike_are_one_community_with_the_chunks_of_its_nodes() -> None:
    names = Texts.of(["xa", "y1", "ya", "y2", "za", "y3"])
    graph = replace(plain_graph([], [], 6), names=names)
    result = dual(graph=graph, embedder=SIDES, progress=QUIET)
    assert members(result) == [[0, 2, 4], [1, 3, 5]]
    assert (result.nodes != result.chunks).nnz == 0
    assert (result.level.tolist(), result.parent.tolist()) == ([0, 0], [-1, -1])


def test_a_node_by_itself_is_no_community() -> None:
    graph = replace(plain_graph([], [], 3), names=Texts.of(["xa", "ya", "z"]))
    result = dual(graph=graph, embedder=SIDES, progress=QUIET)
    assert members(result) == [[0, 1]]
