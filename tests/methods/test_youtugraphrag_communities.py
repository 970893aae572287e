"""Communities by structure and meaning together, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET, chunks_of
from by_hand import Planted

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from methods.youtugraphrag import communities
from methods.youtugraphrag.communities import (
    clusters,
    dual,
    keywords_of,
    merged,
    similarity,
    subgraph_texts,
)


def members(result: Communities) -> list[list[int]]:
    return chunks_of(result.nodes)


def plain_graph(source, target, n_nodes: int) -> Graph:
    return Graph.from_arrays(source, target, np.eye(n_nodes), n_nodes=n_nodes)


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
    result = keywords_of(graph, vectors, np.arange(3), 3)
    assert result.ids.tolist() == [0, 1, 2]
    assert result.scores == pytest.approx([0.926, 0.776, 0.463], abs=1e-3)


def test_similarity_is_shared_targets_and_the_cosine_of_what_is_stated() -> None:
    """0 leads to 2 and 3, 1 to 3 alone: Jaccard 1/2. Cosine 0.6: 0.3 / 2 + 0.7 * 0.6 = 0.57."""
    graph = plain_graph([0, 0, 1], [2, 3, 3], 4)
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 1.0]])
    assert similarity(graph, vectors, np.array([0, 1]))[0, 1] == pytest.approx(0.57)
    apart = similarity(graph, vectors, np.array([2, 3]))
    assert apart[0, 1] == pytest.approx(0.7)  # neither leads anywhere: no structure in common


PARTS = [np.array([0]), np.array([1]), np.array([2, 3])]
AT = {0: 0, 1: 40, 2: 60, 3: 60}
"""The direction of each node in degrees: cosines of 0.766 (0, 1), 0.94 (1, 2), 0.5 (0, 2)."""


@pytest.mark.parametrize(
    ("most_members", "expected"), [(100, [[0], [1, 2, 3]]), (2, [[0, 1], [2, 3]])]
)
def test_the_most_similar_parts_are_merged_each_once(monkeypatch, most_members, expected) -> None:
    """Without edges a similarity is 0.7 times the cosine: 0.536, 0.658 and 0.35."""
    monkeypatch.setattr(communities, "MOST_MEMBERS", most_members)
    angles = np.radians([AT[node] for node in range(4)])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    result = merged(plain_graph([], [], 4), vectors, PARTS)
    assert [sorted(part.tolist()) for part in result] == expected


def test_few_or_equal_nodes_are_one_cluster() -> None:
    alike = np.array([[1.0, 0.0]] * 4)
    assert [one.tolist() for one in clusters(alike, np.array([0, 1]))] == [[0, 1]]
    assert [one.tolist() for one in clusters(alike, np.arange(4))] == [[0, 1, 2, 3]]
    assert clusters(alike, np.zeros(0, np.int64)) == []


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
