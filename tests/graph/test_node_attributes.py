"""Attributes of nodes: which rows there are, how they are read, and that they come back from disk.

Ada (node 0) is a painter in chunks 0 and 2, and was born in 1867 in chunk 1; Bo (node 2) is tall.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph, attributes_of
from graphrag_bench.graph.node_attributes import NodeAttributes, rows_named
from graphrag_bench.graph.thinning import thinned

STATED = [
    (2, "Height", "tall", (1,)),
    (0, "Born", "1867", (1,)),
    (0, "profession", "a  Painter", (0,)),
    (0, "profession", "A painter.", (2,)),
    (0, "profession", "...", (2,)),
    (1, "--", "nothing", (0,)),
]


@pytest.fixture
def graph() -> Graph:
    base = Graph.from_arrays(
        [0, 1], [1, 2], node_chunk=np.eye(3), relationship_chunk=[[1, 0, 0]] * 2
    )
    return replace(base, node_attributes=NodeAttributes.of(STATED, 3))


def test_a_row_is_one_node_name_and_value_with_the_chunks_that_state_it(graph):
    held = attributes_of(graph)
    assert held.node.tolist() == [0, 0, 2]
    assert [held.told(row) for row in range(3)] == [
        "born: 1867",
        "profession: a Painter",
        "height: tall",
    ]
    assert held.chunk.toarray().astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_of_a_node_what_most_chunks_state_comes_first(graph):
    held = attributes_of(graph)
    assert [held.rows_of(node).tolist() for node in range(3)] == [[1, 0], [], [2]]


def test_a_graph_announces_its_attributes(graph):
    assert "node.attributes" in graph.attributes
    assert "node.attributes" not in replace(graph, node_attributes=None).attributes


def test_rows_are_found_by_name_whatever_its_case(graph):
    found = rows_named(attributes_of(graph), ("BORN", "height"))
    assert found is not None
    assert found.tolist() == [True, False, True]
    assert rows_named(attributes_of(graph), ()) is None


def test_a_name_that_no_attribute_has_is_answered_with_the_nearest(graph):
    with pytest.raises(UserError, match="profession"):
        rows_named(attributes_of(graph), ("profesion",))


def test_a_graph_without_attributes_says_which_has_some(graph):
    with pytest.raises(UserError, match="build.graph=attributed"):
        attributes_of(replace(graph, node_attributes=None))


def test_attributes_are_stored_beside_the_graph(graph, tmp_path):
    graph.save(tmp_path)
    again = attributes_of(Graph.load(tmp_path))
    held = attributes_of(graph)
    assert again.node.tolist() == held.node.tolist()
    assert (list(again.names), list(again.values)) == (list(held.names), list(held.values))
    assert (again.chunk != held.chunk).nnz == 0


def test_a_graph_without_attributes_has_no_folder_of_them(graph, tmp_path):
    replace(graph, node_attributes=None).save(tmp_path)
    assert not (tmp_path / "attributes").exists()
    assert Graph.load(tmp_path).node_attributes is None


def test_without_some_edges_a_graph_keeps_its_attributes(graph):
    assert len(attributes_of(thinned(graph, edge_drop=0.5))) == 3
