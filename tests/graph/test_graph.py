"""The graph's views, by hand on four nodes."""

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.graph.graph import Graph


@pytest.fixture
def graph():
    """Rows: 0 - 1 (chunk 0), 2 - 1 (chunk 1), 1 - 0 (chunk 1), 2 - 2; node 3 by itself."""
    return Graph.from_arrays(
        source=[0, 2, 1, 2],
        target=[1, 1, 0, 2],
        weight=[1.0, 4.0, 2.0, 9.0],
        node_chunk=[[1, 1], [1, 1], [0, 1], [0, 0]],
        relationship_chunk=[[1, 0], [0, 1], [0, 1], [0, 0]],
        n_nodes=4,
    )


def test_rows_with_the_same_ends_are_one_pair(graph):
    pairs = graph.pairs
    assert pairs.source.tolist() == [0, 1, 2]
    assert pairs.target.tolist() == [1, 2, 2]
    assert pairs.weight.tolist() == [3.0, 4.0, 9.0]
    assert pairs.of.tolist() == [0, 1, 0, 2]
    assert pairs.first.tolist() == [0, 1, 3]


def test_the_adjacency_is_symmetric_and_without_loops(graph):
    assert graph.adjacency.toarray().tolist() == [
        [0, 3, 0, 0],
        [3, 0, 4, 0],
        [0, 4, 0, 0],
        [0, 0, 0, 0],
    ]


def test_a_walk_leaves_a_node_by_weight_and_an_isolated_one_not_at_all(graph):
    np.testing.assert_allclose(
        graph.transition.toarray(),
        [[0, 3 / 7, 0, 0], [1, 0, 1, 0], [0, 4 / 7, 0, 0], [0, 0, 0, 0]],
    )


def test_a_pair_is_in_the_chunks_of_any_of_its_rows(graph):
    assert graph.pair_chunk.toarray().tolist() == [[True, True], [False, True], [False, False]]


def test_chunks_are_counted_through_relationships(graph):
    assert graph.chunks_per_node.tolist() == [2, 2, 1, 0]


def test_views_are_made_once(graph):
    assert graph.igraph is graph.igraph
    assert graph.networkx is graph.networkx
    assert graph.igraph.vcount() == graph.networkx.number_of_nodes() == 4
    assert graph.igraph.es["weight"] == [3.0, 4.0, 9.0]


def test_attributes_follow_from_the_columns(graph):
    assert graph.attributes == {"node.name", "relationship.name", "relationship.weight"}


def test_a_graph_with_types_and_descriptions_comes_back_with_them(graph, tmp_path):
    rich = Graph(
        **{name: getattr(graph, name) for name in (
            "names", "source", "target", "weight", "synonym", "relations", "node_chunk",
            "relationship_chunk",
        )},
        types=Texts.of(["person"] * 4),
        facts=Texts.of(["they met"] * 4),
    )  # fmt: skip
    rich.save(tmp_path)
    loaded = Graph.load(tmp_path)
    assert loaded.attributes == graph.attributes | {"node.type", "relationship.description"}
    assert loaded.descriptions is None
    assert list(loaded.types) == ["person"] * 4


def test_a_loaded_graph_is_a_memory_map_with_the_same_views(graph, tmp_path):
    graph.save(tmp_path)
    loaded = Graph.load(tmp_path)
    assert isinstance(loaded.source.base, np.memmap)
    assert np.array_equal(loaded.transition.toarray(), graph.transition.toarray())
    assert loaded.pair_chunk.toarray().tolist() == graph.pair_chunk.toarray().tolist()


def test_a_graph_without_anything_has_views_without_anything():
    empty = Graph.from_arrays([], [])
    assert (empty.n_nodes, empty.n_relationships, empty.n_chunks) == (0, 0, 0)
    assert empty.adjacency.shape == empty.transition.shape == (0, 0)
    assert len(empty.pairs.source) == 0


def test_what_questions_read_is_stored_with_the_graph_and_not_made_again(graph, tmp_path):
    graph.save(tmp_path)
    loaded = Graph.load(tmp_path)
    stored = set(vars(loaded))
    views = ("adjacency", "pair_chunk", "chunk_relationship", "node_relationship", "transition")
    assert {*views, "pairs", "chunks_per_node", "row_of", "dictionary"} <= stored
    for name in views:
        assert np.array_equal(getattr(loaded, name).toarray(), getattr(graph, name).toarray())
    for name in ("source", "target", "weight", "of", "first"):
        assert getattr(loaded.pairs, name).tolist() == getattr(graph.pairs, name).tolist()
    assert loaded.chunks_per_node.tolist() == [2, 2, 1, 0]
    assert loaded.row_of["node 2"] == 2
    assert loaded.dictionary.matches("Is node 3 near Node 1?") == [("node 3", 3), ("node 1", 1)]
    assert not loaded.transition.data.flags.writeable
    assert np.shares_memory(loaded.transition.indices, loaded.adjacency.indices)


def test_a_graph_made_of_a_stored_one_has_views_of_its_own(graph, tmp_path):
    graph.save(tmp_path)
    other = replace(Graph.load(tmp_path), weight=np.array([1.0, 0.0, 1.0, 0.0]))
    assert other.pairs.weight.tolist() == [2.0, 0.0, 0.0]


def test_a_graph_that_was_stored_without_views_makes_them(graph, tmp_path):
    graph.save(tmp_path)
    (tmp_path / "views").rename(tmp_path.with_name("elsewhere"))
    assert Graph.load(tmp_path).pairs.of.tolist() == [0, 1, 0, 2]
