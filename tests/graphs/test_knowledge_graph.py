"""Graphs of triples, of a data set's triples, and of passages, by hand."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from builds import QUIET, Known, chunks_of, dense, ends, extraction, facts, texts
from published_sets import rog_folder
from small_worlds import dataset

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.embedding import vector_index
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import DeviceRows, VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.graphs import knowledge_graph as graphs
from graphrag_bench.graphs.chunking import presplit, token
from graphrag_bench.graphs.extraction import CO_OCCURS
from graphrag_bench.graphs.passage_graph import passage
from graphrag_bench.values import Question
from methods.subgraphrag.triples import in_scope

TITLED = ChunkTable.of([("a", "Norvik", "It was founded on Mount Tarn."), ("b", "", "")])
ADA, NORVIK, TARN = "Ada Marsh", "Norvik", "Mount Tarn"


def test_a_graph_without_entities_is_an_error_that_titles_do_not_hide():
    for second, titles in (((["--"], [("a", "", "b")]), "off"), (([], []), "about")):
        with pytest.raises(UserError, match="no entities"):
            graphs.kg(extraction=extraction(([], []), second), chunk_table=TITLED, titles=titles)


def test_the_title_of_a_passage_can_be_an_entity():
    """A fact already joins the title with Ada Marsh, so only Mount Tarn gets an edge."""
    read = extraction(([ADA, TARN], [(ADA, "founded", "NORVIK")]), (["Velia"], []))
    inputs = {"extraction": read, "chunk_table": TITLED, "titles": "about"}
    graph = graphs.kg(**inputs)
    founded = ("ada marsh", "founded", "norvik", 1.0)
    assert facts(graph) == [founded, ("norvik", CO_OCCURS, "mount tarn", 1.0)]
    assert list(graph.names) == ["norvik", "ada marsh", "mount tarn", "velia"]
    assert dense(graph.node_chunk) == [[1, 0], [1, 0], [1, 0], [0, 1]]
    index = graphs.name_index(**inputs, embedder=Hashing(32), progress=QUIET)
    expected = Hashing(32).encode(list(graph.names), kind="passage")
    assert index.vectors.tolist() == expected.tolist()


def with_synonyms(*triples, **settings):
    """The cosines are 0.9 of tarn and mount tarn, 0.8 of mount tarn and norvik, 0.5 of the ends."""
    cosines = np.array([[1, 0.9, 0.5, 0], [0.9, 1, 0.8, 0], [0.5, 0.8, 1, 0], [0, 0, 0, 1]])
    read = extraction((["tarn", "mount tarn", "norvik", "lund"], list(triples)))
    index = VectorIndex(np.linalg.cholesky(cosines).astype(np.float32))
    inputs = {"extraction": read, "chunk_table": texts(1), "name_index": index}
    return graphs.kg_synonymy(**inputs, progress=QUIET, **settings)


def test_nearest_names_from_the_threshold_on_are_joined_once():
    """Mount tarn is the nearest of norvik but not the reverse: one direction is enough."""
    graph = with_synonyms(synonyms_per_node=1)
    assert [(*row[:3], round(row[3], 6)) for row in facts(graph)] == [
        ("tarn", graphs.SYNONYM, "mount tarn", 0.9),
        ("mount tarn", graphs.SYNONYM, "norvik", 0.8),
    ]
    assert graph.synonym.tolist() == [True, True]
    assert chunks_of(graph.relationship_chunk) == [[], []]


def test_names_are_joined_as_by_comparing_all(monkeypatch):
    rng = np.random.default_rng(0)
    near = rng.standard_normal((20, 32)).repeat(10, axis=0) + 0.6 * rng.standard_normal((200, 32))
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    cosines = np.round(vectors.astype(float) @ vectors.T.astype(float), 6)
    np.fill_diagonal(cosines, -2.0)
    ways = product(("", "cpu"), (100, 0), (16, 1000), ((3, 0.8), (40, 0.6), (1, 0.05)))
    for device, few, at_once, (per_node, threshold) in ways:
        monkeypatch.setattr(graphs, "_FEW", few)
        monkeypatch.setattr(graphs, "_at_once", lambda n, at_once=at_once: at_once)
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
        codes, found = graphs.synonym_pairs(vectors, per_node, threshold, QUIET)
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


def graph_of(data):
    return graphs.subgraph_graph(corpus=data, chunk_table=presplit(corpus=data))


def holding(triples):
    data = dataset(*((name, "", f"Document {name}.") for name in triples))
    documents = tuple(Document(d.id, d.title, d.text, d.id) for d in data.documents)
    return Dataset("t", documents, (), {}, data.card, subgraphs=Subgraphs.of(triples.items()))


def test_names_are_kept_as_written_and_a_triple_of_two_documents_has_weight_two(tmp_path):
    cwq = read_dataset("cwq", rog_folder(tmp_path))
    graph = graph_of(cwq)
    assert list(graph.names) == [
        "Rolf the Ram", "Norvik F.C.", "2012 Tarn Cup", "2014 Tarn Cup", "Norvik", "m.011zsc4_",
        "NORVIK",
    ]  # fmt: skip
    assert graph.relations[0] == "sports.mascot.team"
    assert graph.weight.tolist() == [1, 1, 1, 1, 2, 1]
    assert dense(graph.relationship_chunk)[4] == dense(graph.node_chunk)[4] == [1, 1, 0]
    with pytest.raises(UserError, match="chunking=presplit"):
        graphs.subgraph_graph(corpus=cwq, chunk_table=token(corpus=cwq, size=20, overlap=0))


def test_triples_with_blank_parts_are_dropped_and_a_graph_needs_triples():
    graph = graph_of(holding({"d": [("a", "r", "a"), ("a", " ", "b"), ("", "r", "b")]}))
    assert facts(graph) == [("a", "r", "a", 1.0)]
    with pytest.raises(UserError, match="no triples"):
        graph_of(dataset(("d", "", "A text.")))
    with pytest.raises(UserError, match="empty"):
        graph_of(holding({"d": []}))


def test_each_question_has_only_its_own_distinct_triples():
    triples = {"0": [("a", "r", "B"), ("a", "r", "B"), ("b", "r.s", "a")], "1": [("a", "r", "B")]}
    data = holding(triples)
    graph, table = graph_of(data), presplit(corpus=data)
    for scope, own in triples.items():
        rows = in_scope(Question("q", "?", scope), graph=graph, chunk_table=table)
        assert [facts(graph)[row][:3] for row in rows.ids] == list(dict.fromkeys(own))


PASSAGES = ChunkTable.of([
    ("d0", "Norvik", "Ada Marsh founded it."),
    ("d1", "", "Ada Marsh came from Norvik."),
    ("d2", "", "Mira Holt met Ada Marsh."),
    ("d3", "", "Nobody is here."),
    ("d4", "", "Mira Holt was born in 1901."),
])  # fmt: skip
NAMES = Known({"Norvik": "GPE", "Ada Marsh": "PERSON", "Mira Holt": "PERSON", "1901": "DATE"})


def test_edges_name_and_count_the_shared_entities_of_two_passages():
    """Norvik is the title of passage 0. Ada Marsh is in three passages, the others in two."""
    whole = [((0, 1), "norvik, ada marsh", 2.0), ((0, 2), "ada marsh", 1.0),
             ((1, 2), "ada marsh", 1.0), ((2, 4), "mira holt", 1.0)]  # fmt: skip
    common = [((0, 1), "norvik", 1.0), ((2, 4), "mira holt", 1.0)]
    for settings, expected in (({}, whole), ({"max_df": 2}, common)):
        graph = passage(chunk_table=PASSAGES, nlp=NAMES, progress=QUIET, **settings)
        assert list(zip(ends(graph), graph.relations, graph.weight, strict=True)) == expected
    assert graph.statistics == {"entities": 3, "too_frequent": 1}
    assert graph.descriptions[0] == "Norvik\nAda Marsh founded it."
    assert (chunks_of(graph.node_chunk)[3], chunks_of(graph.relationship_chunk)[0]) == ([3], [0, 1])
