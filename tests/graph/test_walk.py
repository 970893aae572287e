"""A walk over some rows of a walk: by hand, on a path of four."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.walk import walk_among, walk_of_nodes, walk_with_chunks


def test_a_walk_among_some_nodes_takes_the_edges_between_them_by_weight():
    """0 -1- 1 -3- 2 -2- 3: without 3, node 2 has but its edge of weight 3."""
    path = Graph.from_arrays([0, 1, 2], [1, 2, 3], weight=[1, 3, 2])
    walk = walk_among(walk_of_nodes(path), np.array([0, 1, 2]))
    assert walk.strength.tolist() == pytest.approx([1, 4, 3])
    expected = [[0, 1 / 4, 0], [1, 0, 1], [0, 3 / 4, 0]]
    assert walk.transition.toarray() == pytest.approx(np.array(expected))


def test_the_rows_come_in_the_order_given_and_may_be_joined_to_nothing():
    path = Graph.from_arrays([0, 1, 2], [1, 2, 3])
    walk = walk_among(walk_of_nodes(path), np.array([3, 0, 1]))
    assert walk.isolated.tolist() == [0]
    assert walk.transition.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_chunks_are_rows_after_the_nodes():
    graph = Graph.from_arrays([], [], node_chunk=[[1, 0], [1, 1]], n_nodes=2)
    whole = walk_with_chunks(graph, relationships=True, contains="one")
    assert walk_among(whole, np.array([1, 2])).strength.tolist() == [1, 1]
    assert [row.indices.tolist() for row in graph.chunk_node] == [[0, 1], [1]]


def test_nodes_of_a_type_are_replaced_by_the_pairs_of_what_they_join():
    """Facts 3 and 4 join 0 and 1, and 4 joins 2 as well; 0 and 2 are synonyms, 0.5."""
    base = Graph.from_arrays(
        [3, 3, 4, 4, 4, 0], [0, 1, 0, 1, 2, 2], weight=[9, 9, 9, 9, 9, 0.5],
        node_chunk=[[1], [0], [0], [1], [1]],
    )  # fmt: skip
    graph = replace(base, types=Texts.of(["entity"] * 3 + ["fact"] * 2))
    walk = walk_with_chunks(
        graph, relationships=True, contains="one", contains_weight=0.5, cliques=("fact",)
    )
    assert walk.strength.tolist() == [4.0, 3.0, 2.5, 0.0, 0.0, 0.5]
    weights = walk.transition.toarray() * walk.strength
    assert weights[0].tolist() == pytest.approx([0, 2, 1.5, 0, 0, 0.5])
    assert weights[1].tolist() == pytest.approx([2, 0, 1, 0, 0, 0])
