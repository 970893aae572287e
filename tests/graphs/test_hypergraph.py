"""Hypergraphs by hand: nodes, edges, weights and chunks."""

import pytest
from builds import chunks_of, ends, texts

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    EntityRecord,
    FactExtraction,
    FactRecord,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.hypergraph import hypergraph

MET, WROTE = "Ada met Bo in Ys.", "Ada wrote."


def fact(text: str, *names: str, complete: float = 10.0) -> FactRecord:
    entities = tuple(EntityRecord(name, "", f"{name} there.") for name in names)
    return FactRecord(text, entities, complete)


ROWS = [
    ChunkFacts((fact(MET, "Ada", "Bo", "Ys", complete=8.0), fact(WROTE, "Ada"))),
    ChunkFacts((fact(f" {MET}", "ADA", "Bo"),)),
]
"""The first fact is mentioned twice, the second time without Ys."""


def graph_of(rows=ROWS, **settings) -> Graph:
    extraction = FactExtraction.of(rows, {})
    return hypergraph(fact_extraction=extraction, chunk_table=texts(len(rows)), **settings)


def test_entities_and_distinct_facts_are_nodes_with_their_texts_and_chunks():
    graph = graph_of()
    assert list(zip(graph.names, graph.types, graph.descriptions, strict=True)) == [
        ("ada", "entity", "ada: Ada there. ADA there."),
        ("bo", "entity", "bo: Bo there."),
        ("ys", "entity", "ys: Ys there."),
        ("hyperedge: 0", "hyperedge", MET),
        ("hyperedge: 1", "hyperedge", WROTE),
    ]
    assert chunks_of(graph.node_chunk) == [[0, 1], [0, 1], [0], [0, 1], [0]]
    # two mentions of 8 / 10 and 10 / 10 give 1.8; the least weight is 0.1
    assert ends(graph) == [(3, 0), (3, 1), (3, 2), (4, 0)]
    assert graph.weight.tolist() == pytest.approx([1.8, 1.8, 1.8, 1.0])
    assert chunks_of(graph.relationship_chunk) == [[0, 1], [0, 1], [0], [0]]
    assert graph_of([ChunkFacts((fact(MET, "Ada", complete=0.0),))]).weight.tolist() == [0.1]


def test_descriptions_fit_a_limit_but_keep_one_text_and_no_facts_are_an_error():
    described = {None: "ada: Ada there. ADA there.", 0: "ada", 1: "ada: Ada there."}
    for tokens, text in described.items():
        assert graph_of(description_tokens=tokens).descriptions[0] == text
    for rows in ([ChunkFacts()], [ChunkFacts((fact(MET, "..."),))]):
        with pytest.raises(UserError, match="no entities.*build.fact_extraction"):
            graph_of(rows)
