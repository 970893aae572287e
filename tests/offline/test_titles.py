"""Passage titles as nodes, by hand."""

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.derived_settings import complete
from graphrag_bench.graph.extraction import (
    ChunkExtraction,
    ChunkRecords,
    EntityRecord,
    Extraction,
    TextExtraction,
    Triple,
)
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.extraction import CO_OCCURS
from graphrag_bench.offline.indices import name_index
from graphrag_bench.offline.knowledge_graph import kg
from graphrag_bench.offline.text_graph import text_graph
from graphrag_bench.progress import Progress

TABLE = ChunkTable.of(
    [("a", "Norvik", "It was founded by Ada Marsh on Mount Tarn."), ("b", "", "")]
)


def read(*triples: tuple[str, str, str]) -> Extraction:
    """The first chunk names Ada Marsh and Mount Tarn, the second Velia."""
    first = ChunkExtraction(("Ada Marsh", "Mount Tarn"), tuple(Triple(*one) for one in triples))
    return Extraction((first, ChunkExtraction(("Velia",), ())), {})


def facts(graph) -> list[tuple[str, str, str]]:
    names = list(graph.names)
    return [
        (names[head], relation, names[tail])
        for head, relation, tail in zip(graph.source, graph.relations, graph.target, strict=True)
    ]


def test_by_default_a_title_is_no_node():
    graph = kg(extraction=read(), chunk_table=TABLE)
    assert list(graph.names) == ["ada marsh", "mount tarn", "velia"]


def test_a_title_can_be_an_entity_of_its_passage():
    graph = kg(extraction=read(), chunk_table=TABLE, titles="entity")
    assert list(graph.names) == ["norvik", "ada marsh", "mount tarn", "velia"]
    assert graph.node_chunk.toarray().astype(int).tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert facts(graph) == []


def test_a_passage_can_be_about_its_title():
    """A fact already joins the title with Ada Marsh, so that only Mount Tarn is joined with it."""
    given = read(("Ada Marsh", "founded", "NORVIK"))
    graph = kg(extraction=given, chunk_table=TABLE, titles="about")
    assert facts(graph) == [
        ("ada marsh", "founded", "norvik"),
        ("norvik", CO_OCCURS, "mount tarn"),
    ]


def test_titles_do_not_hide_that_nothing_was_extracted():
    nothing = Extraction((ChunkExtraction((), ()),) * 2, {})
    with pytest.raises(UserError, match="no entities"):
        kg(extraction=nothing, chunk_table=TABLE, titles="about")
    none = TextExtraction((ChunkRecords(),) * 2, {})
    with pytest.raises(UserError, match="no entities"):
        text_graph(none, TABLE, "entity", keywords=False)


def test_a_title_can_be_a_node_of_a_textual_graph():
    told = ChunkRecords((EntityRecord("Ada Marsh", "person", "Ada founded it."),))
    given = TextExtraction((told, ChunkRecords()), {})
    graph = text_graph(given, TABLE, "entity", keywords=False)
    assert list(graph.names) == ["norvik", "ada marsh"]
    assert list(graph.descriptions) == ["", "Ada founded it."]
    assert graph.node_chunk.toarray().astype(int).tolist() == [[1, 0], [1, 0]]


def test_the_name_index_has_the_titles_that_the_graph_has(tmp_path):
    graph = kg(extraction=read(), chunk_table=TABLE, titles="entity")
    index = name_index(
        extraction=read(),
        chunk_table=TABLE,
        embedder=Hashing(32),
        progress=Progress(quiet=True),
        titles="entity",
    )
    expected = Hashing(32).encode(list(graph.names), kind="passage")
    assert index.vectors.tolist() == expected.tolist()


def test_a_graph_with_titles_asks_for_a_name_index_with_titles():
    class Set:
        """A data set as far as choices look at it."""

        openie = None
        world = None

    choices = {
        "chunk_table": {"variant": "presplit"},
        "extraction": {"variant": "nlp"},
        "text_extraction": {"variant": "nlp"},
        "graph": {"variant": "kg_synonymy", "titles": "about"},
    }
    complete(choices, Set())
    assert choices["name_index"] == {"variant": "extraction", "titles": "about"}
