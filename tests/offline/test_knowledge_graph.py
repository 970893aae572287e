"""Extraction to graph, by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.indices import name_index, node_index, relationship_index
from graphrag_bench.offline.knowledge_graph import kg, node_rows
from graphrag_bench.progress import Progress


def extraction(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> Extraction:
    """One (entities, triples) for each chunk."""
    rows = [
        ChunkExtraction(tuple(entities), tuple(Triple(*triple) for triple in triples))
        for entities, triples in chunks
    ]
    return Extraction(tuple(rows), {})


def table(n_chunks: int) -> ChunkTable:
    return ChunkTable.of([(f"d{row}", "", f"text {row}") for row in range(n_chunks)])


def graph_of(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> Graph:
    return kg(extraction=extraction(*chunks), chunk_table=table(len(chunks)))


def facts(graph: Graph) -> list[tuple[str, str, str, float]]:
    """Every row as (source, relation, target, weight)."""
    return [
        (graph.names[source], relation, graph.names[target], weight)
        for source, relation, target, weight in zip(
            graph.source, graph.relations, graph.target, graph.weight.tolist(), strict=True
        )
    ]


def chunks_of(matrix: csr_matrix) -> list[list[int]]:
    """The chunks of every row."""
    return [matrix[row].indices.tolist() for row in range(matrix.shape[0])]


ADA, NORVIK, TARN = "Ada Marsh", "Norvik", "Mount Tarn"


# ---- facts


def test_nodes_are_normalised_names_in_order_of_first_appearance():
    graph = graph_of(([NORVIK], [(ADA, "founded", "NORVIK")]), (["ada  marsh!", TARN], []))
    assert list(graph.names) == ["norvik", "ada marsh", "mount tarn"]


def test_the_same_fact_read_again_adds_to_its_weight_and_its_chunks():
    fact = (ADA, "founded", NORVIK)
    graph = graph_of(([], [fact, fact]), ([], [("ada marsh", "Founded", "norvik")]))
    assert facts(graph) == [("ada marsh", "founded", "norvik", 3.0)]
    assert chunks_of(graph.relationship_chunk) == [[0, 1]]


def test_direction_and_relation_tell_facts_apart_and_a_pair_sums_them():
    graph = graph_of(
        ([], [(ADA, "founded", NORVIK), (NORVIK, "was founded by", ADA), (ADA, "left", NORVIK)])
    )
    assert graph.n_relationships == 3
    assert graph.pairs.source.tolist() == [0]
    assert graph.pairs.target.tolist() == [1]
    assert graph.pairs.weight.tolist() == [3.0]


def test_weights_of_triples_are_summed():
    row = ChunkExtraction((), (Triple("a", "r", "b", 0.5), Triple("a", "r", "b", 2.0)))
    graph = kg(extraction=Extraction((row,), {}), chunk_table=table(1))
    assert graph.weight.tolist() == [2.5]


@pytest.mark.parametrize(
    "dropped",
    [
        pytest.param((ADA, "is", "ADA MARSH"), id="equal ends"),
        pytest.param((ADA, "--", NORVIK), id="no relation"),
        pytest.param(("", "founded", NORVIK), id="no head"),
        pytest.param((ADA, "founded", "!"), id="no tail"),
    ],
)
def test_a_triple_that_says_nothing_is_dropped_with_its_ends(dropped):
    graph = graph_of(([TARN], [dropped]))
    assert list(graph.names) == ["mount tarn"]
    assert facts(graph) == []


def test_a_node_is_in_the_chunks_of_its_entities_and_facts():
    graph = graph_of(([TARN], [(ADA, "founded", NORVIK)]), ([ADA], []), ([], []))
    found = dict(zip(graph.names, chunks_of(graph.node_chunk), strict=True))
    assert found == {"mount tarn": [0], "ada marsh": [0, 1], "norvik": [0]}
    assert graph.n_chunks == 3


def test_chunks_per_node_are_counted_through_relationships():
    graph = graph_of(([TARN], [(ADA, "founded", NORVIK)]), ([ADA], [(ADA, "left", NORVIK)]))
    assert dict(zip(graph.names, graph.chunks_per_node.tolist(), strict=True)) == {
        "mount tarn": 0,
        "ada marsh": 2,
        "norvik": 2,
    }


def test_names_in_other_scripts_are_nodes():
    assert list(graph_of((["東京", "Květa"], [])).names) == ["東京", "květa"]


def test_a_graph_without_a_node_is_refused_with_the_likely_causes():
    with pytest.raises(UserError, match="The graph has no entities. Likely causes: the model is"):
        graph_of(([], []), (["--"], [("a", "", "b")]))


# ---- indices over the graph


def index_inputs(tmp_path):
    return {"embedder": Hashing(64), "progress": Progress(quiet=True)}


def test_the_name_index_has_a_row_for_each_node_in_node_order(tmp_path):
    made = extraction(([TARN, ADA], [(ADA, "founded", NORVIK)]))
    index = name_index(extraction=made, chunk_table=table(1), **index_inputs(tmp_path))
    expected = Hashing(64).encode(list(node_rows(made)), kind="passage")
    assert list(node_rows(made)) == ["mount tarn", "ada marsh", "norvik"]
    np.testing.assert_array_equal(index.vectors, expected)
    assert node_index(name_index=index) is index


def test_a_relationship_is_embedded_with_both_its_ends(tmp_path):
    graph = graph_of(([], [(ADA, "founded", NORVIK)]))
    index = relationship_index(graph=graph, **index_inputs(tmp_path))
    expected = Hashing(64).encode(["ada marsh founded norvik"], kind="passage")
    np.testing.assert_array_equal(index.vectors, expected)
