"""The hypergraph of facts by hand: its nodes, its edges, their weights and chunks."""

import numpy as np
import pytest
from builds import QUIET, chunks_of, ends, facts, texts
from by_hand import Planted

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    EntityRecord,
    FactExtraction,
    FactRecord,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.hypergraph import hypergraph, hypergraph_synonymy

MET, WROTE = "Ada met Bo in Ys.", "Ada wrote."


def fact(text: str, *names: str, complete: float = 10.0) -> FactRecord:
    entities = tuple(EntityRecord(name, "", f"{name} there.") for name in names)
    return FactRecord(text, entities, complete)


ROWS = [
    ChunkFacts((fact(MET, "Ada", "Bo", "Ys", complete=8.0), fact(WROTE, "Ada"))),
    ChunkFacts((fact(f" {MET}", "ADA", "Bo"),)),
]
"""The first fact is told twice; the second time it does not name Ys."""


def graph_of(rows=ROWS, build=hypergraph, **settings) -> Graph:
    extraction = FactExtraction.of(rows, {})
    return build(fact_extraction=extraction, chunk_table=texts(len(rows)), **settings)


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


def test_a_fact_is_joined_to_all_its_entities_by_how_complete_it_was_told():
    """8 / 10 and 10 / 10 of two places: 1.8; 0.1 at least."""
    graph = graph_of()
    assert ends(graph) == [(3, 0), (3, 1), (3, 2), (4, 0)]
    assert graph.weight.tolist() == pytest.approx([1.8, 1.8, 1.8, 1.0])
    assert chunks_of(graph.relationship_chunk) == [[0, 1], [0, 1], [0], [0]]
    assert graph_of([ChunkFacts((fact(MET, "Ada", complete=0.0),))]).weight.tolist() == [0.1]


@pytest.mark.parametrize(
    ("tokens", "described"),
    [(None, "ada: Ada there. ADA there."), (0, "ada"), (1, "ada: Ada there.")],
)
def test_an_entity_is_told_of_by_as_much_as_fits_one_text_at_least(tokens, described):
    assert graph_of(description_tokens=tokens).descriptions[0] == described


@pytest.mark.parametrize("rows", [[ChunkFacts()], [ChunkFacts((fact(MET, "..."),))]])
def test_without_a_fact_the_graph_is_refused(rows):
    with pytest.raises(UserError, match="no fact"):
        graph_of(rows)


def by_initial(text: str) -> np.ndarray:
    """Names of the same initial have cosine 0.9, others 0."""
    vector = np.zeros(6)
    vector[["aby".index(text[0]), 3 + len(text) % 3]] = 0.9**0.5, 0.1**0.5
    return vector


def test_entities_of_similar_names_are_joined_by_their_cosine_and_described_by_their_names():
    rows = [ChunkFacts((fact(MET, "Ada", "Bo", "Adah"),))]
    graph = graph_of(rows, hypergraph_synonymy, embedder=Planted(by_initial), progress=QUIET)
    assert graph.synonym.tolist() == [False] * 3 + [True]
    (*_, (head, _, tail, cosine)) = facts(graph)
    assert (head, tail, cosine) == ("ada", "adah", pytest.approx(0.9))
    assert chunks_of(graph.relationship_chunk)[3] == []
    assert graph.statistics["synonyms"] == 1
    assert graph.descriptions.take(range(3)) == ["ada", "bo", "adah"]
