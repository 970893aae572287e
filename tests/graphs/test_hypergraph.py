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


def edges(graph: Graph) -> dict[tuple[str, str], float]:
    """The weight of each edge by the texts of its ends."""
    texts_of_ends = [(graph.descriptions[head], graph.names[tail]) for head, tail in ends(graph)]
    return dict(zip(texts_of_ends, graph.weight.tolist(), strict=True))


def test_entities_and_distinct_facts_are_nodes_with_their_texts():
    graph = graph_of()
    assert list(zip(graph.names, graph.types, graph.descriptions, strict=True)) == [
        ("ada", "entity", "ada: Ada there. ADA there."),
        ("bo", "entity", "bo: Bo there."),
        ("ys", "entity", "ys: Ys there."),
        ("hyperedge: 0", "hyperedge", MET),
        ("hyperedge: 1", "hyperedge", WROTE),
    ]


def test_a_fact_is_joined_to_all_its_entities_by_how_complete_it_was_told():
    """8 / 10 and 10 / 10 of two places: 1.8."""
    assert edges(graph_of()) == pytest.approx(
        {(MET, "ada"): 1.8, (MET, "bo"): 1.8, (MET, "ys"): 1.8, (WROTE, "ada"): 1.0}
    )


def test_an_edge_of_a_fact_that_is_not_complete_at_all_has_a_weight():
    assert edges(graph_of([ChunkFacts((fact(MET, "Ada", complete=0.0),))])) == {(MET, "ada"): 0.1}


def test_nodes_and_edges_are_in_the_chunks_that_tell_them():
    graph = graph_of()
    assert chunks_of(graph.node_chunk) == [[0, 1], [0, 1], [0], [0, 1], [0]]
    assert chunks_of(graph.relationship_chunk) == [[0, 1], [0, 1], [0], [0]]


@pytest.mark.parametrize(
    ("tokens", "described"),
    [(None, "ada: Ada there. ADA there."), (0, "ada"), (1, "ada: Ada there.")],
)
def test_an_entity_is_told_of_by_as_much_as_fits_one_text_at_least(tokens, described):
    graph = graph_of(description_tokens=tokens)
    assert graph.descriptions[0] == described


@pytest.mark.parametrize("rows", [[ChunkFacts()], [ChunkFacts((fact(MET, "..."),))]])
def test_without_a_fact_the_graph_is_refused(rows):
    with pytest.raises(UserError, match="no fact that names an entity"):
        graph_of(rows)


def by_initial(text: str) -> np.ndarray:
    """Names of the same initial have cosine 0.9, others 0."""
    vector = np.zeros(6)
    vector[["aby".index(text[0]), 3 + len(text) % 3]] = 0.9**0.5, 0.1**0.5
    return vector


def synonyms(**settings) -> dict[tuple[str, str], float]:
    """The synonymy edges of Ada, Adah and Bo, who met in one fact."""
    rows = [ChunkFacts((fact(MET, "Ada", "Bo", "Adah"),))]
    graph = graph_of(
        rows, hypergraph_synonymy, embedder=Planted(by_initial), progress=QUIET, **settings
    )
    assert graph.statistics["synonyms"] == graph.synonym.sum()
    assert chunks_of(graph.relationship_chunk[graph.synonym]) == [[]] * int(graph.synonym.sum())
    rows_of = zip(facts(graph), graph.synonym, strict=True)
    return {(head, tail): cosine for (head, _, tail, cosine), synonym in rows_of if synonym}


def test_entities_of_similar_names_are_joined_by_their_cosine():
    assert synonyms() == pytest.approx({("ada", "adah"): 0.9})


def test_with_synonyms_entities_are_described_by_their_names_alone():
    graph = graph_of(build=hypergraph_synonymy, embedder=Planted(by_initial), progress=QUIET)
    assert graph.descriptions.take(range(3)) == ["ada", "bo", "ys"]
