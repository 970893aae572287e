"""The graph of the triples of a data set, by hand."""

import pytest
from builds import dense, facts
from rog_sets import rog_folder
from small_worlds import dataset

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.chunking import presplit, token
from graphrag_bench.graphs.knowledge_graph import subgraph_graph
from graphrag_bench.values import Question
from methods.subgraphrag.triples import in_scope


def graph_of(data: Dataset) -> Graph:
    return subgraph_graph(corpus=data, chunk_table=presplit(corpus=data))


def holding(triples: dict[str, list[tuple[str, str, str]]]) -> Dataset:
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
        subgraph_graph(corpus=cwq, chunk_table=token(corpus=cwq, size=20, overlap=0))


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
