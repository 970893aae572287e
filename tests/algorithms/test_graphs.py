"""Views of a graph of four nodes, by hand, and graphs with dropped edges."""

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph, drop_edges
from graphrag_bench.algorithms.pagerank import walk_of_nodes


@pytest.fixture
def graph():
    """Rows: 0 - 1 (chunk 0), 2 - 1 (chunk 1), 1 - 0 (chunk 1), 2 - 2; node 3 by itself."""
    return Graph.from_arrays(
        [0, 2, 1, 2], [1, 1, 0, 2], [[1, 1], [1, 1], [0, 1], [0, 0]],
        [[1, 0], [0, 1], [0, 1], [0, 0]], weight=[1.0, 4.0, 2.0, 9.0], n_nodes=4,
    )  # fmt: skip


def test_rows_with_the_same_ends_are_one_pair(graph):
    expected = {"source": [0, 1, 2], "target": [1, 2, 2], "weight": [3.0, 4.0, 9.0]}
    expected |= {"of": [0, 1, 0, 2], "first": [0, 1, 3]}
    assert {name: getattr(graph.pairs, name).tolist() for name in expected} == expected


def test_views_join_the_rows_of_a_pair(graph):
    assert graph.adjacency.toarray().tolist() == [[0, 3, 0, 0], [3, 0, 4, 0], [0, 4, 0, 0], [0] * 4]
    walk = [[0, 3 / 7, 0, 0], [1, 0, 1, 0], [0, 4 / 7, 0, 0], [0] * 4]
    np.testing.assert_allclose(graph.transition.toarray(), walk)
    assert graph.pair_chunk.toarray().tolist() == [[True, True], [False, True], [False, False]]


def test_views_are_stored_with_the_graph_and_memory_mapped(graph, tmp_path):
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
    walk_of_nodes(loaded)
    mapped = [loaded.source, loaded.names.blob, loaded.row_of.sums, loaded.pairs.weight]
    for array in (*mapped, loaded.transition.data, loaded.transition.indices):
        while not isinstance(array, np.memmap):  # a copy in memory has no such base
            array = array.base
    assert np.shares_memory(loaded.transition.indices, loaded.adjacency.indices)
    (tmp_path / "views/dictionary").rename(tmp_path / "views/keys")  # as in older versions
    (tmp_path / "merges.jsonl").unlink()
    assert Graph.load(tmp_path).dictionary.row("Node 1") == 1


def test_dropped_edges_lose_all_rows_and_a_larger_share_drops_a_superset() -> None:
    """The edges of the ring have two rows each, one for each direction."""
    ends, beyond = np.arange(20), (np.arange(20) + 1) % 20
    ring = Graph.from_arrays([*ends, *beyond], [*beyond, *ends])
    less = [drop_edges(ring, edge_drop=share) for share in (0.1, 0.2, 0.5)]
    few, some, half = (
        set(zip(*map(list, (g.pairs.source, g.pairs.target)), strict=True)) for g in less
    )
    assert (less[2].n_nodes, less[2].n_relationships, len(half)) == (20, 20, 10)
    assert few > some > half
