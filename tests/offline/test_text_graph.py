"""Merging described records into textual and rich knowledge graphs."""

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import (
    ChunkRecords,
    EntityRecord,
    RelationshipRecord,
    TextExtraction,
)
from graphrag_bench.graph.graph import Graph
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.offline.text_graph import text_graph, text_kg
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)


def entity(name: str, kind: str = "", description: str = "") -> EntityRecord:
    return EntityRecord(name, kind, description)


def told(source: str, target: str, description: str = "", *keywords: str, strength: float = 1.0):
    return RelationshipRecord(source, target, description, keywords, strength)


def chunk(*records) -> ChunkRecords:
    """The records of one chunk."""
    return ChunkRecords(
        tuple(one for one in records if isinstance(one, EntityRecord)),
        tuple(one for one in records if isinstance(one, RelationshipRecord)),
    )


def chunk_table(n: int) -> ChunkTable:
    return ChunkTable.of([(f"d{row}", "", f"text {row}") for row in range(n)])


def merged(*chunks: ChunkRecords, keywords: bool = False) -> Graph:
    return text_graph(TextExtraction(chunks, {}), chunk_table(len(chunks)), keywords=keywords)


def dense(matrix) -> list[list[int]]:
    return matrix.toarray().astype(int).tolist()


def test_nodes_stand_in_order_of_first_mention_and_entities_come_first():
    graph = merged(chunk(told("Otto", "Mira"), entity("Velia")), chunk(entity("Ada")))
    assert list(graph.names) == ["velia", "otto", "mira", "ada"]


def test_names_that_are_the_same_when_normalised_are_one_node():
    graph = merged(chunk(entity("ADA MARSH")), chunk(entity("Ada  Marsh!"), entity("...")))
    assert list(graph.names) == ["ada marsh"]
    assert dense(graph.node_chunk) == [[1, 1]]


def test_the_type_is_the_most_frequent_one_ties_to_the_first_and_no_type_does_not_count():
    graph = merged(
        chunk(entity("a", "geo"), entity("b", "person"), entity("c")),
        chunk(entity("a", "event"), entity("b"), entity("b"), entity("c", "geo")),
        chunk(entity("a", "event")),
    )
    assert list(graph.types) == ["event", "person", "geo"]
    tie = merged(chunk(entity("a", "geo"), entity("a", "event")))
    assert list(tie.types) == ["geo"]


def test_descriptions_are_the_distinct_ones_sorted_and_joined_as_written():
    graph = merged(
        chunk(entity("a", "", "Was born in 1901, in Norvik."), entity("a", "", "A painter.")),
        chunk(entity("a", "", " A painter. "), entity("a", "", "")),
    )
    assert list(graph.descriptions) == ["A painter. Was born in 1901, in Norvik."]


def test_a_pair_is_one_row_whatever_the_direction_and_its_weight_the_sum_of_strengths():
    graph = merged(
        chunk(told("b", "a", "b paints a.", strength=2)),
        chunk(told("a", "b", "a knows b.", strength=0.5), told("b", "a", "b paints a.")),
    )
    assert list(graph.names) == ["b", "a"]
    assert (graph.source.tolist(), graph.target.tolist()) == ([0], [1])
    assert graph.weight.tolist() == [3.5]
    assert list(graph.facts) == ["a knows b. b paints a."]
    assert list(graph.relations) == [""]
    assert dense(graph.relationship_chunk) == [[1, 1]]


def test_an_end_without_an_entity_record_is_a_node_without_type_and_description():
    graph = merged(chunk(entity("a", "geo", "A place."), told("a", "b", "a is near b.")))
    assert list(graph.names) == ["a", "b"]
    assert (list(graph.types), list(graph.descriptions)) == (["geo", ""], ["A place.", ""])
    assert dense(graph.node_chunk) == [[1], [1]]


def test_pairs_of_equal_ends_and_ends_without_letters_are_dropped():
    graph = merged(chunk(told("a", "A!"), told("a", "?"), told("a", "b")))
    assert list(graph.names) == ["a", "b"]
    assert graph.n_relationships == 1


def test_a_negative_strength_weighs_nothing():
    assert merged(chunk(told("a", "b", strength=-3))).weight.tolist() == [0.0]


def test_keywords_are_the_distinct_ones_in_order_of_first_mention():
    graph = merged(
        chunk(told("a", "b", "", "trade", "art")), chunk(told("b", "a", "", "art", "war")),
        keywords=True,
    )  # fmt: skip
    assert list(graph.keywords) == ["trade, art, war"]


def test_a_textual_graph_has_no_keywords_and_a_rich_one_has():
    extraction = TextExtraction((chunk(told("a", "b", "", "art")),), {})
    table = ChunkTable.of([("d", "", "text")])
    found = [text_graph(extraction, table, keywords=one).attributes for one in (False, True)]
    assert ["relationship.keywords" in one for one in found] == [False, True]


def test_a_rich_graph_without_any_keyword_is_refused_with_what_to_set():
    with pytest.raises(UserError, match=r"build\.text_extraction\.keywords=true"):
        merged(chunk(told("a", "b")), keywords=True)


def test_nothing_extracted_is_refused():
    with pytest.raises(UserError, match="The graph has no entities"):
        merged(chunk(), chunk())


def test_nodes_alone_make_a_graph():
    graph = merged(chunk(entity("a")), keywords=True)
    assert (graph.n_nodes, graph.n_relationships) == (1, 0)
    assert graph.relationship_chunk.shape == (0, 1)


def test_a_graph_that_was_saved_is_loaded(tmp_path):
    graph = merged(chunk(entity("a", "geo", "É."), told("a", "b", "x", "k")), keywords=True)
    graph.save(tmp_path)
    loaded = Graph.load(tmp_path)
    for column in ("names", "types", "descriptions", "facts", "keywords"):
        assert list(getattr(loaded, column)) == list(getattr(graph, column))
    assert np.array_equal(loaded.weight, graph.weight)


def test_without_a_language_model_the_first_descriptions_that_fit_can_be_kept():
    """Four tokens each: `C d e f` and `A b c d` fit in eight, the last does not."""
    texts = ("C d e f", "A b c d", "B c d e")
    extraction = TextExtraction((chunk(*(entity("a", "", text) for text in texts)),), {})
    kept = {
        room: list(
            text_graph(extraction, chunk_table(1), keywords=False, most_tokens=room).descriptions
        )
        for room in (8, 4, 1, None)
    }
    assert kept[8] == ["A b c d C d e f"]
    assert kept[4] == kept[1] == ["C d e f"]
    assert kept[None] == ["A b c d B c d e C d e f"]


# ---- summaries

LONG = "Ada painted. " * 10
"""30 tokens: three a time."""


def summarised(model, *chunks: ChunkRecords, keywords=False, **settings) -> Graph:
    return text_kg(
        keywords=keywords,
        text_extraction=TextExtraction(chunks, {}),
        chunk_table=ChunkTable.of([(f"d{row}", "", f"text {row}") for row in range(len(chunks))]),
        llm_build=model,
        progress=QUIET,
        **settings,
    )


def test_only_descriptions_of_enough_tokens_are_summarised():
    model = Scripted([("About: ada", " Ada was a painter. "), ("About: ada; otto", "Painters.")])
    graph = summarised(
        model,
        chunk(entity("Ada", "", LONG), entity("Otto", "", "Short."), told("Ada", "Otto", "Met.")),
        summary_from=20,
    )
    assert list(graph.descriptions) == ["Ada was a painter.", "Short."]
    assert list(graph.facts) == ["Met."]
    assert len(model.asked) == 1


def test_a_relationship_is_summarised_under_both_its_names():
    model = Scripted([("About: ada; otto", "They painted.")])
    made = summarised(
        model, chunk(told("Ada", "Otto", LONG, "art")), summary_from=20, keywords=True
    )
    assert list(made.facts) == ["They painted."]
    assert list(made.keywords) == ["art"]


def test_the_threshold_is_500_tokens():
    summarised(Scripted(), chunk(entity("Ada", "", "word " * 499)))
    model = Scripted([("About", "Words.")])
    summarised(model, chunk(entity("Ada", "", "word " * 501)))
    assert len(model.asked) == 1


def test_a_description_is_cut_to_the_window_of_the_model():
    model = Scripted([("About", "Words.")], window=2000)
    summarised(model, chunk(entity("Ada", "", "word " * 5000)))
    assert 0 < model.asked[0][-1].content.count("word") < 1300


def test_where_no_summary_came_the_description_stays():
    model = Scripted(
        [("About: ada", CallFailed("retries_exhausted", "down")), ("About: otto", "Otto.")]
    )
    chunks = chunk(entity("Ada", "", LONG), entity("Otto", "", LONG + "Otto too."))
    graph = summarised(model, chunks, summary_from=20)
    assert list(graph.descriptions) == [LONG.strip(), "Otto."]


def test_no_summary_at_all_is_refused_with_a_sample():
    model = Scripted([("About", CallFailed("refused", "out of order"))])
    with pytest.raises(UserError, match="out of order") as raised:
        summarised(model, chunk(entity("Ada", "", LONG)), summary_from=20)
    assert "summarise descriptions" in str(raised.value)
    assert "none of 1 replies (0%)" in str(raised.value)
