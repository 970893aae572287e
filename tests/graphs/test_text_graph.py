"""Textual and rich knowledge graphs of records."""

import pytest
from builds import QUIET, dense, described, facts, related

from graphrag_bench.algorithms.extraction import EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.text_graph import text_graph, text_kg
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted

entity = EntityRecord


def merged(*chunks: list, keywords: bool = False) -> Graph:
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


def test_a_pair_is_one_row_with_the_summed_strength():
    graph = merged(
        [related("b", "a", "b paints a.", strength=2)],
        [related("a", "b", "a knows b.", strength=0.5), related("b", "a", "b paints a.")],
    )
    assert facts(graph) == [("b", "", "a", 3.5)]
    assert list(graph.facts) == ["a knows b. b paints a."]
    assert dense(graph.relationship_chunk) == [[1, 1]]


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
