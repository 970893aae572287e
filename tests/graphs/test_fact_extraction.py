"""N-ary facts of a chunk: sentences with the names in them, and facts by planned replies."""

import pytest
from builds import QUIET, table
from small_worlds import Capitals

from graphrag_bench.algorithms.extraction import ChunkFacts, EntityRecord, FactRecord
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graphs.gleaning import RecordReply, read_facts
from graphrag_bench.graphs.text_extraction import llm_facts, nlp_facts
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted

FOUNDED = '("fact"<|>Ada Marsh founded Norvik with Otto.<|>9)'
ADA = '("entity"<|>ADA MARSH<|>She founded Norvik.)'
OTTO = '("entity"<|>OTTO<|>He founded Norvik.)'
STANDS = '("fact"<|>Norvik stands on Tarn.<|>7.5)'
TARN = '("entity"<|>TARN<|>A mountain.)'
FOUNDED_READ = FactRecord(
    "Ada Marsh founded Norvik with Otto.",
    (EntityRecord("ADA MARSH", "", "She founded Norvik."),
     EntityRecord("OTTO", "", "He founded Norvik.")),
    9.0,
)  # fmt: skip
STANDS_READ = FactRecord("Norvik stands on Tarn.", (EntityRecord("TARN", "", "A mountain."),), 7.5)


def read(text: str) -> RecordReply:
    return read_facts(text, False, purpose="test")


# ---- delimited records


def test_an_entity_belongs_to_the_fact_before_it():
    reply = read(f"{FOUNDED}##{ADA}##{OTTO}##\n{STANDS}##{TARN}<|COMPLETE|>")
    assert reply.records == (FOUNDED_READ, STANDS_READ)
    assert reply.malformed == 0


@pytest.mark.parametrize(
    ("last", "complete"), [("<|>12", 10.0), ("<|>-3", 0.0), ("<|>high", 10.0), ("", 10.0)]
)
def test_completeness_is_a_number_from_zero_to_ten_and_else_ten(last, complete):
    (fact,) = read(f'("fact"<|>Norvik stands.{last})').records
    assert fact.completeness == complete


@pytest.mark.parametrize(
    "bad",
    [
        '("entity"<|>TARN)',
        '("entity"<|>...<|>A mountain.)',
        '("fact"<|><|>9)',
        "(place<|>TARN<|>9)",
    ],
)
def test_a_malformed_record_is_counted_and_left_out(bad):
    """So is an entity before every fact."""
    reply = read(f"{OTTO}##{STANDS}##{TARN}##{bad}<|COMPLETE|>")
    assert (reply.records, reply.malformed) == ((STANDS_READ,), 2)


def test_a_reply_without_facts_cannot_be_read():
    with pytest.raises(UnreadableReply):
        read(f"{ADA}<|COMPLETE|>")


# ---- by a language model


def test_counts_of_odd_facts_are_kept():
    cut = Completion(f"{STANDS}##{TARN}##{FOUNDED}##(place<|>X)##(entity", 10, 10, finish="length")
    model = Scripted([("could not be read", "No."), ("Otto", "No."), ("Passage", cut)])
    result = llm_facts(
        chunk_table=table("Ada.", "Otto."), llm_build=model, progress=QUIET, max_gleaning=0
    )
    assert result.rows == (ChunkFacts((STANDS_READ,)), ChunkFacts())
    ones = ("fact_records", "entity_records", "facts_without_entities", "malformed_records")
    ones = (*ones, "truncated_replies", "failed_chunks")
    assert result.statistics == {**dict.fromkeys(ones, 1), "replies": 3, "failed_gleanings": 0}


# ---- by a tagger

TEXT = "Ada Marsh founded Norvik. It stands on Tarn. Nobody knows why"


def sentences(named: str) -> list[tuple[str, list[str]]]:
    """The texts of the facts of a passage, and the names of their entities."""
    result = nlp_facts(chunk_table=table(TEXT, title=named), nlp=Capitals(), progress=QUIET)
    (row,) = result.rows
    return [(fact.text, [entity.name for entity in fact.entities]) for fact in row.facts]


def test_a_passage_is_about_its_title_and_says_so_where_it_does_not_name_it():
    assert sentences("Norvik") == [
        ("Ada Marsh founded Norvik", ["Norvik", "Ada Marsh"]),
        ("Norvik: It stands on Tarn", ["Norvik", "It", "Tarn"]),
        ("Norvik: Nobody knows why", ["Norvik", "Nobody"]),
    ]


def test_entities_are_described_by_their_sentence_and_sentences_without_one_are_no_facts():
    result = nlp_facts(chunk_table=table("Otto came. nobody cared"), nlp=Capitals(), progress=QUIET)
    assert result.rows[0].facts == (
        FactRecord("Otto came", (EntityRecord("Otto", "", "Otto came"),), 10.0),
    )
