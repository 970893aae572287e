"""Views, quoted chunks and health of small graphs, by hand, and graphs with dropped edges."""

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.algorithms.evidence import Fragments, NodeAttributes
from graphrag_bench.algorithms.graph import Graph, attributes_of, drop_edges, graph_health, hubs
from graphrag_bench.algorithms.name_dictionary import Merge
from graphrag_bench.algorithms.pagerank import walk_of_nodes
from graphrag_bench.graphs.merging import Merger


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


NODE_CHUNK = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
"""a and b share chunk 0, a and c chunk 1, d and f chunk 2; e is in none, and chunk 3 is empty."""


def six_nodes():
    """a-b (twice), a-c, and the synonymy edge c-d; facts of chunk 0 and 1 only."""
    facts = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    own = Graph.from_arrays([0, 1, 0, 2], [1, 0, 2, 3], NODE_CHUNK, facts, names=[*"abcdef"])
    merges = (Merge("aa", "a", "acronym", "d1"),)
    return replace(own, synonym=np.array([False, False, False, True]), merges=merges)


def test_each_measure_is_counted() -> None:
    assert graph_health(six_nodes()) == {
        "isolated nodes": (2, 6),  # e, f
        "nodes in one chunk": (4, 6),  # all but a and e
        "nodes in no chunk": (1, 6),
        "nodes in the largest part": (5, 6),  # f by chunk 2 of d
        "links of the largest hubs": (2, 6),  # a or c, of a2 b1 c2 d1
        "merged names": (1, 7),
        "chunks without nodes": (1, 4),
        "chunks without facts": (2, 4),  # a synonymy edge is no fact
    }


def test_chunks_are_links_in_a_graph_without_relationships() -> None:
    names = Graph.from_arrays([], [], NODE_CHUNK, names=[*"abcdef"])
    assert hubs(names)[:2] == [("a", 2), ("b", 1)] and hubs(six_nodes())[:2] == [("a", 2), ("c", 2)]
    measured = graph_health(names)
    assert (measured["isolated nodes"], measured["chunks without facts"]) == ((1, 6), (4, 4))
    assert measured["nodes in the largest part"] == (3, 6)


def test_a_graph_without_nodes_or_chunks_has_zeros() -> None:
    measured = graph_health(Graph.from_arrays([], [], n_nodes=2))
    assert measured["isolated nodes"] == (2, 2) and measured["chunks without nodes"] == (0, 0)
    assert {n for n, _ in graph_health(Graph.from_arrays([], [])).values()} == {0}


def hub(most_tokens=None):
    """A graph with Velia described in three chunks, twice by the same text, and Isk in the last."""
    merger = Merger()
    for chunk, message in enumerate(("A state.", "It has a port.", "A state.")):
        merger.node("Velia", description=message, chunks=(chunk,))
    merger.relationship("Isk", "Velia", description="Isk flows there.", chunks=(2,))
    merger.relationship("Isk", "Velia", description="Told of both.", chunks=(0, 1))
    merger.relationship("Velia", "Lund", chunks=(1,))
    return merger.graph(3, most_tokens=most_tokens)


def test_a_description_quotes_the_chunks_of_its_fragments() -> None:
    graph = hub()
    assert graph.chunks_of_node(0) == (0, 1, 2)
    assert hub(most_tokens=3).chunks_of_node(0) == (0, 2), "the second was cut"
    assert graph.chunks_of_node(1) == (), "Isk is an end without a description"
    # of a text with several chunks it is not known which it was read from
    assert graph.facts is not None and graph.facts[0] == "Isk flows there. Told of both."
    assert graph.chunks_of_relationship(0) == (2,)
    assert graph.chunks_of_relationship(1) == (), "it says nothing"


def test_a_fact_without_a_description_quotes_all_its_chunks() -> None:
    graph = Graph.from_arrays([0, 1], [1, 2], np.eye(3), [[1, 0, 1], [0, 1, 0]])
    assert graph.chunks_of_relationship(0) == (0, 2)
    assert graph.chunks_of_triples((0, 1)) == (0, 1, 2)
    assert graph.chunks_of_node(0) == (), "a name is no description"


def test_fragments_are_distinct_and_sorted_by_row() -> None:
    stored = Fragments.of([(2, "b", 1), (0, "a", 0), (2, "b", 1), (2, "a", 2)], 3)
    assert list(stored) == [(0, "a", 0), (2, "b", 1), (2, "a", 2)]
    assert (stored.of_row(1), stored.of_row(7)) == ([], [])
    assert list(stored.take(np.array([2, 1]))) == [(0, "b", 1), (0, "a", 2)]
    assert sorted(stored.pairs()) == [("a", 0), ("a", 2), ("b", 1)]
    assert list(Fragments.of([], 2)) == []


def test_fragments_are_stored_with_their_graph_and_dropped_with_edges(tmp_path):
    hub().save(tmp_path)
    graph = Graph.load(tmp_path)
    assert graph.chunks_of_node(0) == (0, 1, 2)
    less = drop_edges(graph, edge_drop=0.5)
    assert less.fact_fragments is not None and len(less.fact_fragments) == less.n_relationships == 1


def test_attributes_are_distinct_by_node_name_and_value():
    stated = [
        (2, "Height", "tall", (1,)), (0, "Born", "1867", (1,)),
        (0, "profession", "a  Painter", (0,)), (0, "profession", "A painter.", (2,)),
        (0, "profession", "...", (2,)), (1, "--", "nothing", (0,)),
    ]  # fmt: skip
    base = Graph.from_arrays([0, 1], [1, 2], node_chunk=np.eye(3))
    stored = attributes_of(replace(base, node_attributes=NodeAttributes.of(stated, 3)))
    assert stored.node.tolist() == [0, 0, 2]
    texts = ["born: 1867", "profession: a Painter", "height: tall"]
    assert [stored.text_of(row) for row in range(3)] == texts
    assert stored.chunk.toarray().astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
