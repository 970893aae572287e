"""Textual and rich graphs, hypergraphs, and the indices of their texts, by hand."""

from dataclasses import replace
from math import log, sqrt

import pytest
from builds import QUIET, dense, described, related, texts

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    EntityRecord,
    FactExtraction,
    FactRecord,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.hypergraph import hypergraph
from graphrag_bench.graphs.text_graph import text_graph, text_kg
from graphrag_bench.indices.vectors import described_index
from graphrag_bench.indices.words import Tfidf
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted

entity = EntityRecord


def merged(*chunks, keywords=False):
    return text_graph(described(*chunks), keywords=keywords)


def test_names_of_the_same_normal_form_are_one_node():
    """Entities come before the ends of relationships; descriptions are sorted."""
    first = [related("Otto", "Mira"), entity("ADA MARSH", "", "Founded it."),
             entity("Ada Marsh", "", "A founder. ")]  # fmt: skip
    graph = merged(first, [entity("Ada  Marsh!", "", " A founder."), entity("...")])
    assert list(graph.names) == ["ada marsh", "otto", "mira"]
    assert list(graph.descriptions) == ["A founder. Founded it.", "", ""]
    assert dense(graph.node_chunk) == [[1, 1], [1, 0], [1, 0]]
    kinds = {"a": ("geo", "event", "event"), "b": ("person", ""), "c": ("", "geo"), "d": ("x", "y")}
    graph = merged([entity(name, kind) for name, some in kinds.items() for kind in some])
    assert list(graph.types) == ["event", "person", "geo", "x"], "the most frequent, or the first"


def test_graphs_without_entities_or_rich_graphs_without_keywords_are_errors():
    with pytest.raises(UserError, match="keywords=true"):
        merged([related("a", "b")], keywords=True)
    with pytest.raises(UserError, match="no entities"):
        merged([], [])


LONG = "Ada painted. " * 200
"""600 tokens, three for each repetition."""


def test_long_descriptions_are_summarised_or_kept_if_the_call_fails():
    failed = CallFailed("retries_exhausted", "down")
    replies = [("About: ada", " Ada was a painter. "), ("About: otto", failed)]
    model = Scripted(replies)
    records = described([
        entity("Ada", "", LONG), entity("Otto", "", LONG), entity("Mira", "", "Short."),
        related("Ada", "Otto", "Met."),
    ])  # fmt: skip
    graph = text_kg(keywords=False, text_extraction=records, llm_build=model, progress=QUIET)
    assert list(graph.descriptions) == ["Ada was a painter.", LONG.strip(), "Short."]
    assert list(graph.facts) == ["Met."]
    assert len(model.prompts) == 2


MET, WROTE = "Ada met Bo in Ys.", "Ada wrote."


def fact(text, *names, complete=10.0):
    entities = tuple(entity(name, "", f"{name} there.") for name in names)
    return FactRecord(text, entities, complete)


ROWS = [
    ChunkFacts((fact(MET, "Ada", "Bo", "Ys", complete=8.0), fact(WROTE, "Ada"))),
    ChunkFacts((fact(f" {MET}", "ADA", "Bo"),)),
]
"""The first fact is mentioned twice, the second time without Ys."""


def graph_of(rows=ROWS, **settings):
    extraction = FactExtraction.of(rows, {})
    return hypergraph(fact_extraction=extraction, chunk_table=texts(len(rows)), **settings)


def test_descriptions_and_weights_have_limits_and_no_facts_are_an_error():
    described = {None: "ada: Ada there. ADA there.", 0: "ada", 1: "ada: Ada there."}
    for tokens, text in described.items():
        assert graph_of(description_tokens=tokens).descriptions[0] == text
    assert graph_of([ChunkFacts((fact(MET, "Ada", complete=0.0),))]).weight.tolist() == [0.1]
    for rows in ([ChunkFacts()], [ChunkFacts((fact(MET, "..."),))]):
        with pytest.raises(UserError, match="no entities.*build.fact_extraction"):
            graph_of(rows)


def test_nodes_are_embedded_by_name_description_or_both():
    plain = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    rich = replace(plain, descriptions=Texts.of(["A keeper.", "", "A mount."]))
    for graph, named, written in (
        (rich, True, ["ada: A keeper.", "norvik", "tarn: A mount."]),
        (rich, False, ["A keeper.", "norvik", "A mount."]),
        (plain, False, ["ada", "norvik", "tarn"]),
    ):
        index = described_index(graph=graph, named=named, embedder=Hashing(32), progress=QUIET)
        assert index.vectors.tolist() == Hashing(32).encode(written, kind="passage").tolist()


def test_tfidf_scores_are_cosines_of_counts_times_smoothed_idf():
    """Two texts, "tarn" in both, "ada" in the first: weights 1 and 1 + ln(3/2).

    The query "ada" meets the first text at its second weight by its length.
    """
    idf = 1 + log(3 / 2)
    scores = Tfidf.of(["Ada tarn", "Tarn"]).scores("ada")
    assert scores.tolist() == pytest.approx([idf / sqrt(1 + idf**2), 0.0])
