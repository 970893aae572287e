"""Textual and rich knowledge graphs of records."""

import pytest
from builds import QUIET, dense, described, related

from graphrag_bench.algorithms.extraction import EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.merging import Merger
from graphrag_bench.graphs.text_graph import text_graph, text_kg
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted


def test_descriptions_are_limited_but_keep_one():
    merger = Merger()
    for text in ("one two three", "b", "a"):
        merger.node("Ada", description=text)
    for most, expected in ((1, "one two three"), (4, "b one two three"), (9, "a b one two three")):
        graph = merger.graph(1, most_tokens=most)
        assert list(graph.descriptions) == [expected]


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


def test_the_type_of_a_node_is_its_most_frequent_one():
    graph = merged(
        [entity("a", "geo"), entity("b", "person"), entity("c"), entity("d", "geo")],
        [entity("a", "event"), entity("b"), entity("b"), entity("c", "geo"), entity("d", "event")],
        [entity("a", "event")],
    )
    assert list(graph.types) == ["event", "person", "geo", "geo"]


def test_a_pair_is_one_row_with_the_summed_strength():
    graph = merged(
        [related("b", "a", "b paints a.", strength=2)],
        [related("a", "b", "a knows b.", strength=0.5), related("b", "a", "b paints a.")],
    )
    assert list(graph.names) == ["b", "a"]
    assert (graph.source.tolist(), graph.target.tolist()) == ([0], [1])
    assert graph.weight.tolist() == [3.5]
    assert list(graph.facts) == ["a knows b. b paints a."]
    assert list(graph.relations) == [""]
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
