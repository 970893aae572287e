"""Facts by a schema: by a tagger, by planned replies, and the graph that is made of them."""

import json

import pytest
from builds import QUIET, FixedTagger, dense

from graphrag_bench.algorithms.extraction import EntityRecord, Triple  # fmt: skip
from graphrag_bench.algorithms.graph import attributes_of
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Relation, Sentence
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import list_reading
from methods.youtugraphrag.schema_extraction import (
    AttributeRecord,
    SchemaExtraction,
    SchemaRecords,
    SchemaReply,
    attributed,
    llm_schema_extraction,
    nlp_schema_extraction,
)

CURIE, WARSAW, YEAR = ("Marie Curie", "PERSON"), ("Warsaw", "GPE"), ("1867", "DATE")
NUMBER = ("900", "CARDINAL")


def read(*sentences: Sentence, named: str = "") -> SchemaRecords:
    table = ChunkTable.of([("d", named, "a text")])
    result = nlp_schema_extraction(chunk_table=table, nlp=FixedTagger(*sentences), progress=QUIET)
    return result.rows[0]


def attributes(facts: SchemaRecords) -> list[tuple[str, str, str]]:
    return [(one.entity, one.name, one.value) for one in facts.attributes]


# ---- by a tagger


def test_a_relation_to_a_date_is_an_attribute_and_one_to_a_name_a_triple():
    relations = tuple(Relation("Marie Curie", "be born in", end) for end in ("Warsaw", "1867"))
    born = Sentence("She was born in Warsaw in 1867.", (CURIE, WARSAW, YEAR), (), relations)
    facts = read(born)
    assert facts.triples == (Triple("Marie Curie", "be born in", "Warsaw"),)
    assert attributes(facts) == [("Marie Curie", "be born in", "1867")]
    assert facts.entities == (EntityRecord("Marie Curie", "person"), EntityRecord("Warsaw", "gpe"))


def test_a_phrase_that_a_relation_joins_to_a_name_is_an_entity():
    taught = Sentence("x", (CURIE,), ("girls",), (Relation("Marie Curie", "teach", "girls"),))
    facts = read(taught)
    assert facts.triples == (Triple("Marie Curie", "teach", "girls"),)
    assert facts.entities == (EntityRecord("Marie Curie", "person"), EntityRecord("girls"))


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
    """A bare number needs a verb, and one that no relation reaches is of the only entity."""
    relations = (Relation(*relation),) if relation else ()
    one = Sentence("x", entities, ("physicist",), relations, frozenset({"She"}))
    assert attributes(read(one, named=title)) == expected


def test_names_that_no_relation_joins_co_occur():
    both = Sentence("x", (CURIE, WARSAW), (), ())
    assert read(both).triples == (Triple("Marie Curie", "occurs with", "Warsaw"),)
    about = read(Sentence("x", (WARSAW,), (), ()), named="Ada")
    assert about.triples == (Triple("Ada", "occurs with", "Warsaw"),)


# ---- the graph


def test_types_facts_and_attributes_of_all_chunks_are_merged():
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


# ---- by a language model

REPLY = {
    "entities": [
        {"name": "Ada Marsh", "type": "Person",
         "attributes": [{"name": "date", "value": "born 1867"},
                        {"name": "craft", "value": "painter"}]},
        {"name": "Norvik", "type": "observatory"},
    ],
    "triples": [["Ada Marsh", "created_by", "Norvik"], ["Ada Marsh", "owns", "Norvik"], ["Ada"]],
    "new_types": {"nodes": ["observatory"], "attributes": ["craft"]},
}  # fmt: skip


def by_model(*replies: str | Completion, **settings) -> SchemaExtraction:
    table = ChunkTable.of([(str(row), "", f"Text {row}") for row in range(len(replies))])
    answers = [(f"Text {row}", reply) for row, reply in enumerate(replies)]
    scripted = Scripted([*answers, ("Your last reply could not be read", "no")])
    return llm_schema_extraction(chunk_table=table, llm_build=scripted, progress=QUIET, **settings)


def test_what_the_model_adds_to_the_schema_is_kept():
    result = by_model(json.dumps(REPLY))
    (row,) = result.rows
    named = [("Ada Marsh", "person"), ("Norvik", "observatory")]
    assert [(one.name, one.type) for one in row.entities] == named
    assert [one.relation for one in row.triples] == ["created_by", "owns"]
    assert attributes(row) == [
        ("Ada Marsh", "date", "born 1867"),
        ("Ada Marsh", "craft", "painter"),
    ]
    assert result.statistics["new_types"] == 2
    assert result.statistics["skipped_triples"] == 1


def test_the_prompt_holds_the_schema_and_the_passage():
    table = ChunkTable.of([("a", "", "A passage.")])
    scripted = Scripted([("A passage.", json.dumps(REPLY))])
    llm_schema_extraction(chunk_table=table, llm_build=scripted, progress=QUIET)
    assert "Entity types: person, location" in scripted.prompts[0][-1].content


def test_a_reply_that_was_cut_gives_what_is_complete():
    text = json.dumps(REPLY)
    reading = list_reading(SchemaReply, "entities", "test")
    result = reading.read(text[: text.index('["Ada Marsh", "owns')], True)
    assert [one.name for one in result.value.entities] == ["Ada Marsh", "Norvik"]
    assert result.value.triples == [["Ada Marsh", "created_by", "Norvik"]]
    assert (result.cut, result.skipped) == (True, 0)
    with pytest.raises(UnreadableReply):
        reading.read('{"entities": [{"na', True)


def test_chunks_whose_replies_cannot_be_read_are_counted_and_all_of_them_refused():
    result = by_model(json.dumps(REPLY), "no")
    assert result.rows[1] == SchemaRecords()
    assert result.statistics["failed_chunks"] == 1
