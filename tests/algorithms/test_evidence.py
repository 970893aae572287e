"""The chunks that descriptions and attributes are from."""

from dataclasses import replace

import numpy as np

from graphrag_bench.algorithms.evidence import Fragments, NodeAttributes
from graphrag_bench.algorithms.graph import Graph, attributes_of, drop_edges
from graphrag_bench.graphs.merging import Merger


def hub(most_tokens: int | None = None) -> Graph:
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
