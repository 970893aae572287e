"""Tests of Youtu-GraphRAG's search, communities and extraction, with results computed by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET, FixedTagger, chunks_of, dense
from by_hand import Planted, replying

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.evidence import NodeAttributes
from graphrag_bench.algorithms.extraction import EntityRecord, Triple  # fmt: skip
from graphrag_bench.algorithms.graph import Graph, attributes_of
from graphrag_bench.columns import Texts, incidence
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Relation, Sentence
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Query, Question, Ranked
from graphrag_bench_more.youtugraphrag import communities
from graphrag_bench_more.youtugraphrag.communities import (
    dual,
    keywords_of,
    merge_similar,
    similarity,
)
from graphrag_bench_more.youtugraphrag.schema_extraction import (
    AttributeRecord,
    SchemaExtraction,
    SchemaRecords,
    attributed,
    nlp_schema_extraction,
)
from graphrag_bench_more.youtugraphrag.typed import (
    Involved,
    involved_nodes,
    members,
    typed_llm,
    typed_nlp,
)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("In which small town is it?", ("gpe", "loc", "fac")),
        ("What record label is it on?", ("org",)),
        ("Is the whole of it whole?", ()),
    ],
)
def test_involved_types_follow_question_words(text, types):
    tagger = FixedTagger(Sentence(text, (), (), ()))
    query, result = typed_nlp(Question("q", text), nlp=tagger)
    assert (query, result.nodes) == (Query((text,)), types)


@pytest.fixture
def graph() -> Graph:
    """Return a graph of a person, a place, a node without a type, and a work of art."""
    base = Graph.from_arrays([0, 0, 1], [1, 2, 3], names=["ada", "norvik", "it", "song"])
    return replace(
        base,
        types=Texts.of(["person", "gpe", "", "work_of_art"]),
        relations=Texts.of(["founded", "met", "founded"]),
        node_attributes=NodeAttributes.of([(0, "born", "1867", ()), (3, "length", "3 min", ())], 0),
    )


ALL = Ranked(np.array([3, 2, 1, 0]), np.array([0.9, 0.8, 0.7, 0.6]))


@pytest.mark.parametrize(
    ("types", "top_k", "expected"),
    [
        (("gpe",), 20, [2, 1]),
        (("gpe", "work of art"), 20, [3, 2, 1]),
        (("gpe",), 1, [2]),
        ((), 20, [3, 2, 1, 0]),
        ((), 2, [3, 2]),
    ],
)
def test_nodes_of_involved_types_and_untyped_nodes_are_kept(graph, types, top_k, expected):
    assert involved_nodes(ALL, Involved(types), graph=graph, top_k=top_k).ids.tolist() == expected


REPLY = {
    "sub_questions": ["Who founded Norvik?", " ", "When was Ada born?", "Who founded Norvik?"],
    "involved_types": {
        "nodes": ["Person", "work_of_art", "ship"],
        "relations": ["Founded"],
        "attributes": ["born"],
    },
}


def test_decomposition_uses_the_schema_of_the_graph(graph):
    question = Question("q", "When was the founder of Norvik born?")
    query, result = typed_llm(question, graph=graph, llm=replying(json.dumps(REPLY)))
    assert query == Query(("Who founded Norvik?", "When was Ada born?"))
    assert result == Involved(("person", "work of art"), ("founded",), ("born",))


def test_members_of_communities_rank_by_similarity():
    """Communities {0, 1} and {2, 3}; node 4 is in none. Cosines: 0.6, 1, 0, 0.8, 1."""
    empty = incidence([(), ()], 0)
    pairs = Communities(
        np.zeros(2, np.int64), np.full(2, -1), incidence([(0, 1), (2, 3)], 5), empty
    )
    vectors = np.array([[0.6, 0.8], [1, 0], [0, 1], [0.8, 0.6], [1, 0]], np.float32)
    library = {
        "communities": pairs,
        "node_index": VectorIndex(vectors),
        "embedder": Planted(lambda text: (0, 1) if text[0] == "b" else (1, 0)),
    }
    question, both = Question("q", "?"), Ranked(np.array([1, 0]), np.ones(2))
    first = both.take(np.array([False, True]))
    assert members(question, both, **library).ids.tolist() == [1, 3, 0, 2]
    assert members(question, first, **library).ids.tolist() == [1, 0]
    assert members(question, both, Query(("b",)), top_k=2, **library).ids.tolist() == [2, 0]


def plain_graph(source, target, n_nodes: int) -> Graph:
    return Graph.from_arrays(source, target, np.eye(n_nodes), n_nodes=n_nodes)


def test_keywords_are_well_connected_and_near_the_mean() -> None:
    """Degrees over the largest are 1, 1/2 and 1/2. The vectors' mean is (2/3, 1/3).

    Its cosine is 2/sqrt(5) = 0.894 with the first two vectors and 0.447 with the last. Node 0: 0.3
    + 0.7 * 0.894 = 0.926; node 1: 0.15 + 0.626 = 0.776; node 2: 0.15 + 0.313 = 0.463.
    """
    graph = plain_graph([0, 0], [1, 2], 3)
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    result = keywords_of(graph, vectors, np.arange(3), 3)
    assert result.ids.tolist() == [0, 1, 2]
    assert result.scores == pytest.approx([0.926, 0.776, 0.463], abs=1e-3)


def test_similarity_of_centres_combines_targets_and_cosine() -> None:
    """The targets are {2, 3} and {3}: Jaccard 1/2. With cosine 0.6: 0.3 / 2 + 0.7 * 0.6 = 0.57."""
    graph = plain_graph([0, 0, 1], [2, 3, 3], 4)
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 1.0]])
    assert similarity(graph, vectors, np.array([0, 1]))[0, 1] == pytest.approx(0.57)
    apart = similarity(graph, vectors, np.array([2, 3]))
    assert apart[0, 1] == pytest.approx(0.7)  # neither leads anywhere: no structure in common


PARTS = [np.array([0]), np.array([1]), np.array([2, 3])]
AT = {0: 0, 1: 40, 2: 60, 3: 60}
"""The angle of each node in degrees. The cosines are 0.766 (0, 1), 0.94 (1, 2) and 0.5 (0, 2)."""


@pytest.mark.parametrize(
    ("most_members", "expected"), [(100, [[0], [1, 2, 3]]), (2, [[0, 1], [2, 3]])]
)
def test_similar_parts_are_merged_once(monkeypatch, most_members, expected) -> None:
    """Without edges similarities are 0.7 times the cosine: 0.536, 0.658 and 0.35."""
    monkeypatch.setattr(communities, "MOST_MEMBERS", most_members)
    angles = np.radians([AT[node] for node in range(4)])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    result = merge_similar(plain_graph([], [], 4), vectors, PARTS)
    assert [sorted(part.tolist()) for part in result] == expected


SIDES = Planted(lambda text: (1.0, 0.0) if "a" in text else (0.0, 1.0))
"""Texts with an `a` are on one axis, and all other texts are on another."""


def test_nodes_with_similar_texts_form_a_community() -> None:
    names = Texts.of(["xa", "y1", "ya", "y2", "za", "y3"])
    graph = replace(plain_graph([], [], 6), names=names)
    result = dual(graph=graph, embedder=SIDES, progress=QUIET)
    assert chunks_of(result.nodes) == [[0, 2, 4], [1, 3, 5]]
    assert (result.nodes != result.chunks).nnz == 0
    assert (result.level.tolist(), result.parent.tolist()) == ([0, 0], [-1, -1])


CURIE, WARSAW, YEAR = ("Marie Curie", "PERSON"), ("Warsaw", "GPE"), ("1867", "DATE")
NUMBER = ("900", "CARDINAL")


def read(*sentences: Sentence, named: str = "") -> SchemaRecords:
    table = ChunkTable.of([("d", named, "a text")])
    result = nlp_schema_extraction(chunk_table=table, nlp=FixedTagger(*sentences), progress=QUIET)
    return result.rows[0]


def attributes(facts: SchemaRecords) -> list[tuple[str, str, str]]:
    return [(one.entity, one.name, one.value) for one in facts.attributes]


def test_a_relation_to_a_date_is_an_attribute_and_to_a_name_a_triple():
    relations = tuple(Relation("Marie Curie", "be born in", end) for end in ("Warsaw", "1867"))
    born = Sentence("She was born in Warsaw in 1867.", (CURIE, WARSAW, YEAR), (), relations)
    facts = read(born)
    assert facts.triples == (Triple("Marie Curie", "be born in", "Warsaw"),)
    assert attributes(facts) == [("Marie Curie", "be born in", "1867")]
    assert facts.entities == (EntityRecord("Marie Curie", "person"), EntityRecord("Warsaw", "gpe"))


WAS = ("be", "physicist")


@pytest.mark.parametrize(
    ("entities", "relation", "title", "expected"),
    [
        ((CURIE,), ("Marie Curie", *WAS), "", [("Marie Curie", "is", "physicist")]),
        ((), ("She", *WAS), "Ada", [("Ada", "is", "physicist")]),
        ((WARSAW, NUMBER), ("Warsaw", "have", "900"), "", [("Warsaw", "have", "900")]),
        ((WARSAW, NUMBER), ("Warsaw", "be", "900"), "", []),
        ((CURIE, YEAR), (), "", [("Marie Curie", "date", "1867")]),
        ((YEAR,), (), "Ada", [("Ada", "date", "1867")]),
        ((CURIE, WARSAW, YEAR), (), "Ada", []),
        ((YEAR,), (), "", []),
        ((CURIE, ("first", "ORDINAL"), ("two", "CARDINAL")), (), "", []),
    ],
)
def test_attributes_are_copulas_with_phrases_and_numbers(entities, relation, title, expected):
    """A bare number needs a verb. A date without a relation belongs to the only entity."""
    relations = (Relation(*relation),) if relation else ()
    one = Sentence("x", entities, ("physicist",), relations, frozenset({"She"}))
    assert attributes(read(one, named=title)) == expected


def test_records_of_all_chunks_are_merged():
    rows = [
        SchemaRecords(
            (EntityRecord("Ada", "person"), EntityRecord("Norvik", "org")),
            (Triple("Ada", "founded", "Norvik"), Triple("Ada", "founded", "Norvik")),
            (AttributeRecord("Ada", "born_in", "1867"),),
        ),
        SchemaRecords(
            (EntityRecord("ADA", "person"), EntityRecord("Ada", "org")),
            (Triple("Norvik", "founded by", "Ada"), Triple("Ada", "is", "ada")),
            (AttributeRecord("Bo", "born in", "1901"), AttributeRecord("Ada", "born in", "1867")),
        ),
    ]
    table = ChunkTable.of([("a", "", "x"), ("b", "", "y")])
    graph = attributed(schema_extraction=SchemaExtraction.of(rows, {}), chunk_table=table)
    assert list(graph.names) == ["ada", "norvik", "bo"]
    assert list(graph.types) == ["person", "org", ""]
    assert list(graph.relations) == ["founded", "founded by"]
    assert graph.weight.tolist() == [2.0, 1.0]
    stored = attributes_of(graph)
    assert [(one, stored.text_of(row)) for row, one in enumerate(stored.node.tolist())] == [
        (0, "born in: 1867"),
        (2, "born in: 1901"),
    ]
    assert dense(stored.chunk) == [[1, 1], [0, 1]]
    assert dense(graph.node_chunk) == [[1, 1], [1, 1], [0, 1]]
    assert graph.statistics == {"attributes": 2}
