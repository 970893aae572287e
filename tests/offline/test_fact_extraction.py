"""N-ary facts of a chunk: sentences with the names in them, and facts by planned replies."""

from __future__ import annotations

import pytest
from small_worlds import Capitals

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.graph.extraction import ChunkFacts, EntityRecord, FactExtraction, FactRecord
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.offline.fact_extraction import llm_facts, nlp_facts
from graphrag_bench.offline.records import RecordReply, read_facts
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)
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


def table(*texts: str, title: str = "") -> ChunkTable:
    return ChunkTable.of([(f"d{row}", title, text) for row, text in enumerate(texts)])


def read(text: str, *, cut: bool = False) -> RecordReply:
    return read_facts(text, cut, purpose="test")


# ---- delimited records


def test_an_entity_belongs_to_the_fact_before_it():
    reply = read(f"{FOUNDED}##{ADA}##{OTTO}##\n{STANDS}##{TARN}<|COMPLETE|>")
    assert reply.records.facts == (FOUNDED_READ, STANDS_READ)
    assert (reply.malformed, reply.has_records) == (0, True)


@pytest.mark.parametrize(
    ("last", "complete"), [("<|>12", 10.0), ("<|>-3", 0.0), ("<|>high", 10.0), ("", 10.0)]
)
def test_completeness_is_a_number_from_zero_to_ten_and_else_ten(last, complete):
    (fact,) = read(f'("fact"<|>Norvik stands.{last})').records.facts
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
    reply = read(f"{STANDS}##{TARN}##{bad}<|COMPLETE|>")
    assert (reply.records.facts, reply.malformed) == ((STANDS_READ,), 1)


def test_an_entity_before_every_fact_is_malformed():
    reply = read(f"{OTTO}##{STANDS}##{TARN}")
    assert (reply.records.facts, reply.malformed) == ((STANDS_READ,), 1)


def test_the_last_record_of_a_cut_reply_is_left_out():
    (fact,) = read(f"{FOUNDED}##{ADA}##{OTTO}", cut=True).records.facts
    assert [entity.name for entity in fact.entities] == ["ADA MARSH"]


@pytest.mark.parametrize("text", ["", "Lovely weather.", ADA, f"{ADA}<|COMPLETE|>"])
def test_a_reply_without_facts_cannot_be_read(text):
    with pytest.raises(UnreadableReply):
        read(text)


def test_a_passage_may_have_no_facts_if_the_reply_says_so():
    assert not read("<|COMPLETE|>").has_records


# ---- by a language model


def told(model: Scripted, *texts: str, **settings) -> FactExtraction:
    return llm_facts(chunk_table=table(*texts), llm_build=model, progress=QUIET, **settings)


def test_gleaning_adds_the_facts_that_were_missed_in_the_same_conversation():
    first = f"{FOUNDED}##{ADA}##{OTTO}<|COMPLETE|>"
    model = Scripted([("in no fact yet", f"{STANDS}##{TARN}"), ("Passage", first)])
    made = told(model, "Ada Marsh founded Norvik with Otto. It stands on Tarn.")
    assert made.rows == (ChunkFacts((FOUNDED_READ, STANDS_READ)),)
    assert [message.role for message in model.asked[1]] == ["system", "user", "assistant", "user"]
    assert len(model.asked) == 2


@pytest.mark.parametrize(("says", "n_calls"), [("YES", 4), ("No.", 3)])
def test_between_rounds_the_model_is_asked_whether_anything_is_left(says, n_calls):
    model = Scripted([("YES or NO", says), ("in no fact", STANDS), ("Passage", FOUNDED)])
    told(model, "Ada.", max_gleaning=2)
    assert len(model.asked) == n_calls


def test_counts_of_odd_facts_are_kept():
    cut = Completion(f"{STANDS}##{TARN}##{FOUNDED}##(place<|>X)##(entity", 10, 10, finish="length")
    model = Scripted([("could not be read", "No."), ("Otto", "No."), ("Passage", cut)])
    made = told(model, "Ada.", "Otto.", max_gleaning=0)
    assert made.rows == (ChunkFacts((STANDS_READ,)), ChunkFacts())
    assert made.statistics == {
        "fact_records": 1,
        "entity_records": 1,
        "facts_without_entities": 1,
        "malformed_records": 1,
        "replies": 3,
        "truncated_replies": 1,
        "failed_chunks": 1,
        "failed_gleanings": 0,
    }


def test_a_model_that_tells_nothing_at_all_is_refused():
    with pytest.raises(UserError, match="fact_extraction.llm") as raised:
        told(Scripted([("", "Lovely weather.")]), "One.", "Two.")
    assert "build.fact_extraction=nlp" in str(raised.value)


# ---- by a tagger

TEXT = "Ada Marsh founded Norvik. It stands on Tarn. Nobody knows why"


def sentences(named: str = "", text: str = TEXT, **settings) -> list[tuple[str, list[str]]]:
    """The texts of the facts of a passage, and the names of their entities."""
    made = nlp_facts(
        chunk_table=table(text, title=named), nlp=Capitals(), progress=QUIET, **settings
    )
    (row,) = made.rows
    return [(fact.text, [entity.name for entity in fact.entities]) for fact in row.facts]


def test_every_sentence_that_names_something_is_a_fact_with_the_names_in_it():
    assert sentences(text="Ada met Otto and Ada. nobody knows why") == [
        ("Ada met Otto and Ada", ["Ada", "Otto"])
    ]


def test_a_passage_is_about_its_title_and_says_so_where_it_does_not_name_it():
    assert sentences("Norvik") == [
        ("Ada Marsh founded Norvik", ["Norvik", "Ada Marsh"]),
        ("Norvik: It stands on Tarn", ["Norvik", "It", "Tarn"]),
        ("Norvik: Nobody knows why", ["Norvik", "Nobody"]),
    ]


def test_as_an_entity_alone_the_title_is_in_the_sentences_that_name_it():
    made = sentences("Mount Tarn", "It is near mount tarn. Otto came", title="entity")
    assert made == [("It is near mount tarn", ["Mount Tarn", "It"]), ("Otto came", ["Otto"])]


def test_a_title_may_be_left_out():
    assert sentences("Norvik", "Otto came", title="off") == [("Otto came", ["Otto"])]


def test_entities_are_described_by_their_sentence():
    made = nlp_facts(chunk_table=table("Otto came"), nlp=Capitals(), progress=QUIET)
    assert made.rows[0].facts == (
        FactRecord("Otto came", (EntityRecord("Otto", "", "Otto came"),), 10.0),
    )
