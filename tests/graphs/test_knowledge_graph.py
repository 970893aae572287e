"""Knowledge graphs of triples by hand: facts, titles, synonyms."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from builds import QUIET, chunks_of, dense, extraction, facts, texts

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding import vector_index
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import DeviceRows, VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.graphs import knowledge_graph
from graphrag_bench.graphs.extraction import CO_OCCURS
from graphrag_bench.graphs.knowledge_graph import (
    SYNONYM,
    kg,
    kg_synonymy,
    name_index,
    synonym_pairs,
)


def graph_of(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> Graph:
    return kg(extraction=extraction(*chunks), chunk_table=texts(len(chunks)))


TITLED = ChunkTable.of([("a", "Norvik", "It was founded on Mount Tarn."), ("b", "", "")])
ADA, NORVIK, TARN = "Ada Marsh", "Norvik", "Mount Tarn"


def test_a_repeated_fact_adds_to_its_weight():
    fact = (ADA, "founded", NORVIK)
    others = [(NORVIK, "was founded by", ADA), (ADA, "left", NORVIK)]
    graph = graph_of(([], [fact, fact]), ([], [("ada marsh", "Founded", "norvik"), *others]))
    assert facts(graph)[0] == ("ada marsh", "founded", "norvik", 3.0)
    assert chunks_of(graph.relationship_chunk) == [[0, 1], [1], [1]]
    assert graph.adjacency.toarray().tolist() == [[0, 5], [5, 0]]


def test_a_graph_without_entities_is_an_error_that_titles_do_not_hide():
    for second, titles in (((["--"], [("a", "", "b")]), "off"), (([], []), "about")):
        with pytest.raises(UserError, match="no entities"):
            kg(extraction=extraction(([], []), second), chunk_table=TITLED, titles=titles)


def test_the_title_of_a_passage_can_be_an_entity():
    """A fact already joins the title with Ada Marsh, so only Mount Tarn gets an edge."""
    read = extraction(([ADA, TARN], [(ADA, "founded", "NORVIK")]), (["Velia"], []))
    inputs = {"extraction": read, "chunk_table": TITLED, "titles": "about"}
    graph = kg(**inputs)
    founded = ("ada marsh", "founded", "norvik", 1.0)
    assert facts(graph) == [founded, ("norvik", CO_OCCURS, "mount tarn", 1.0)]
    assert list(graph.names) == ["norvik", "ada marsh", "mount tarn", "velia"]
    assert dense(graph.node_chunk) == [[1, 0], [1, 0], [1, 0], [0, 1]]
    index = name_index(**inputs, embedder=Hashing(32), progress=QUIET)
    expected = Hashing(32).encode(list(graph.names), kind="passage")
    assert index.vectors.tolist() == expected.tolist()


def with_synonyms(*triples: tuple[str, str, str], **settings) -> Graph:
    """The cosines are 0.9 of tarn and mount tarn, 0.8 of mount tarn and norvik, 0.5 of the ends."""
    cosines = np.array([[1, 0.9, 0.5, 0], [0.9, 1, 0.8, 0], [0.5, 0.8, 1, 0], [0, 0, 0, 1]])
    read = extraction((["tarn", "mount tarn", "norvik", "lund"], list(triples)))
    index = VectorIndex(np.linalg.cholesky(cosines).astype(np.float32))
    inputs = {"extraction": read, "chunk_table": texts(1), "name_index": index}
    return kg_synonymy(**inputs, progress=QUIET, **settings)


@pytest.mark.parametrize("few", [100, 0])
def test_nearest_names_from_the_threshold_on_are_joined_once(few, monkeypatch):
    """Mount tarn is the nearest of norvik but not the reverse: one direction is enough."""
    monkeypatch.setattr(knowledge_graph, "_FEW", few)
    graph = with_synonyms()
    assert [(*row[:3], round(row[3], 6)) for row in facts(graph)] == [
        ("tarn", SYNONYM, "mount tarn", 0.9),
        ("mount tarn", SYNONYM, "norvik", 0.8),
    ]
    assert graph.synonym.tolist() == [True, True]
    assert chunks_of(graph.relationship_chunk) == [[], []]
    for per_node, threshold, n in ((10, 0.85, 1), (1, 0.8, 2), (1, 0.5, 2), (2, 0.5, 3)):
        graph = with_synonyms(synonyms_per_node=per_node, synonymy_threshold=threshold)
        assert graph.n_relationships == n


def test_names_are_joined_as_by_comparing_all(monkeypatch):
    rng = np.random.default_rng(0)
    near = rng.standard_normal((20, 32)).repeat(10, axis=0) + 0.6 * rng.standard_normal((200, 32))
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    cosines = np.round(vectors.astype(float) @ vectors.T.astype(float), 6)
    np.fill_diagonal(cosines, -2.0)
    ways = product(("", "cpu"), (100, 0), (16, 1000), ((3, 0.8), (40, 0.6), (1, 0.05)))
    for device, few, at_once, (per_node, threshold) in ways:
        monkeypatch.setattr(knowledge_graph, "_FEW", few)
        monkeypatch.setattr(knowledge_graph, "_at_once", lambda n, at_once=at_once: at_once)
        if device:  # torch on the processor stands for the GPU
            monkeypatch.setattr(vector_index, "LEAST_PRODUCTS", 0)
            monkeypatch.setattr(vector_index, "rows_on_gpu", partial(DeviceRows, device=device))
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :per_node]
        pairs = {
            (min(row, other), max(row, other)): cosines[row, other]
            for row in range(200)
            for other in nearest[row].tolist()
            if cosines[row, other] >= threshold
        }
        codes, found = synonym_pairs(vectors, per_node, threshold, QUIET)
        assert [divmod(code, 200) for code in codes.tolist()] == sorted(pairs)
        assert found == pytest.approx([pairs[pair] for pair in sorted(pairs)], abs=2e-6)


def test_synonymy_skips_overwrites_or_adds_to_a_pair_of_a_fact():
    fact = ("mount tarn", "is called", "tarn")
    for synonymy, rows, pair in (("skip", 3, 2.0), ("overwrite", 4, 0.9), ("add", 4, 2.9)):
        graph = with_synonyms(fact, fact, ("norvik", "near", "lund"), synonymy=synonymy)
        assert graph.n_relationships == rows
        assert graph.adjacency[0, 1] == pytest.approx(pair, abs=1e-6)
        assert graph.adjacency[1, 2] == pytest.approx(0.8, abs=1e-6)
        assert graph.adjacency[2, 3] == 1
    assert with_synonyms(fact, fact, counted="chunk").weight[0] == 1.0
