"""Records and facts: their layouts in replies, and extraction by a tagger and a model."""

from dataclasses import replace
from itertools import product

import pytest
from builds import QUIET, table
from toy_runs import Capitals

from graphrag_bench.algorithms import extraction as values
from graphrag_bench.algorithms.extraction import EntityRecord, FactRecord, RelationshipRecord
from graphrag_bench.artifacts.plan import plan
from graphrag_bench.artifacts.store import Store
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.graphs.records import RecordReply, read_facts, read_records
from graphrag_bench.graphs.text_extraction import llm_facts, llm_text_extraction, nlp_facts
from graphrag_bench.llm.calls import CallFailed, Completion
from graphrag_bench.llm.openai_compatible import without_reasoning
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.text import count_tokens

ADA = '("entity"<|>ADA<|>person<|>Ada wrote notes.)'
NORVIK = '("entity"<|>NORVIK<|>organization<|>Norvik was founded by Ada Marsh.)'
UNREADABLE = ADA.replace("<|>", " ~ ")
ADA_READ = EntityRecord("ADA", "person", "Ada wrote notes.")

FACT = '("fact"<|>Ada Marsh founded Norvik.<|>9)'
STANDS = '("fact"<|>Norvik stands on Tarn.<|>7.5)##("entity"<|>TARN<|>A mountain.)'
STANDING = FactRecord("Norvik stands on Tarn.", (EntityRecord("TARN", "", "A mountain."),), 7.5)


def read(text, *, cut=False, keywords=False):
    return read_records(text, cut, keywords=keywords, purpose="test")


def facts(text):
    return read_facts(text, False, purpose="test")


def test_malformed_records_are_skipped_and_counted():
    for reading, whole, record, bad in (
        *((read, ADA, ADA_READ, bad) for bad in (
            "(entity<|>NORVIK<|>geo)",
            "(relationship<|>ADA MARSH<|>NORVIK<|>9)",
            "(person<|>NORVIK<|>geo<|>A place.)",
            "(entity<|>...<|>geo<|>A place.)",
            "(relationship<|>ADA MARSH<|><|>founded<|>9)",
            "It is NORVIK<|>geo<|>a place that follows no kind.",
        )),
        *((facts, STANDS, STANDING, bad) for bad in (
            '("entity"<|>TARN)', '("entity"<|>...<|>A mountain.)', '("fact"<|><|>9)',
            "(place<|>TARN<|>9)",
        )),
    ):  # fmt: skip
        reply = reading(f"{whole}##{bad}<|COMPLETE|>")
        assert (reply.records, reply.malformed) == ((record,), 1)
    reply = read(f'{ADA}##("content_keywords"<|>astronomy, history)<|COMPLETE|>')
    assert (reply.records, reply.malformed) == ((ADA_READ,), 0)


def test_strength_is_the_last_field_and_keywords_precede_it():
    for fields, themes, strength in (
        *((last, (), strength) for last, strength in (
            ("9", 9.0), (" 2.5 ", 2.5), ("+3", 3.0), (".5", 0.5), ("0", 0.0), ("-2", 0.0),
            ("strong", 1.0), ("1e3", 1.0), ("nan", 1.0), ("9/10", 1.0), ("", 1.0),
        )),
        ("trust, work; trust,<|>7", ("trust", "work"), 7.0),
    ):  # fmt: skip
        text = f'("relationship"<|>A<|>B<|>A knows B.<|>{fields})<|COMPLETE|>'
        expected = RelationshipRecord("A", "B", "A knows B.", themes, strength)
        assert read(text, keywords=True).records == (expected,)
        assert read(text).records == (replace(expected, keywords=()),)


def test_an_entity_belongs_to_the_fact_before_it():
    otto = '("entity"<|>OTTO<|>He founded it.)'
    reply = facts(f"{otto}##{FACT}##{otto}##\n{STANDS}<|COMPLETE|>")
    named = (EntityRecord("OTTO", "", "He founded it."),)
    founding = FactRecord("Ada Marsh founded Norvik.", named, 9.0)
    assert (reply.records, reply.malformed) == ((founding, STANDING), 1)
    lasts = {"<|>12": 10.0, "<|>-3": 0.0, "<|>7.5": 7.5, "<|>high": 10.0, "": 10.0}
    for last, complete in lasts.items():
        (fact,) = facts(f'("fact"<|>Norvik stands.{last})').records
        assert fact.completeness == complete


BABBAGE = '("entity"<|>BABBAGE<|>person<|>Babbage made engines.)'
FRIENDS = '("relationship"<|>ADA<|>BABBAGE<|>They were friends.<|>7)'
ALL = (
    ADA_READ,
    EntityRecord("BABBAGE", "person", "Babbage made engines."),
    RelationshipRecord("ADA", "BABBAGE", "They were friends.", (), 7.0),
)
LINES = f"{ADA}\n{BABBAGE}\n{FRIENDS}\n<|COMPLETE|>"
MARKS = (
    "<|>", "<||>", "<|#|>", "< | >", "＜|＞", "<｜>", "&lt;|&gt;", "<\\|>", "<|tuple|>", "<|>|",
    "{tuple_delimiter}", "<SEP>", " | ", "\t", "\\t",
)  # fmt: skip


def test_common_delimiters_are_read():
    for mark, end in product(MARKS, ("\n", "##\n", " ")):
        reply = read(LINES.replace("\n", end).replace("<|>", mark))
        assert (reply.records, reply.malformed) == (ALL, 0), (mark, end)


def test_tables_quotes_and_mixed_delimiters_are_read():
    for text in (
        "| kind | name | type | text |\n|---|:-:|---|---|\n"
        "| entity | ADA | person | Ada wrote notes. |\n"
        "| Entity | BABBAGE | person | Babbage made engines. |\n"
        "| relationship | ADA | BABBAGE | They were friends. | 7 |\n",
        '"entity"|"ADA"|"person"|"Ada wrote notes."\n"entity"|"BABBAGE"|"person"|"Babbage made '
        'engines."\n"relationship"|"ADA"|"BABBAGE"|"They were friends."|7',
        '("entity", "ADA", "person", "Ada wrote notes."), ("entity", "BABBAGE", "person", "Babbage '
        'made engines."), ("relationship", "ADA", "BABBAGE", "They were friends.", 7)',
        f"{ADA}##{BABBAGE.replace('<|>', '<||>')}##{FRIENDS.replace('<|>', '|')}",
    ):  # fmt: skip
        assert read(text).records == ALL


def test_other_layouts_prose_and_empty_replies_are_unreadable():
    for text in (
        "**Entities**\n- Ada: person\n<|COMPLETE|>",
        '{"entities": [{"name": "ADA", "type": "person"}]}<|COMPLETE|>',
        "There are no entities. <|COMPLETE|>",
        UNREADABLE + "<|COMPLETE|>",
        "| Entity | Type | Text |\n|---|---|---|\n| ADA | person | She wrote. |\n<|COMPLETE|>",
        *("", "I would rather not.", "(entity<|>A)<|COMPLETE|>", "{}"),
    ):
        for reading in (read, facts):
            with pytest.raises(UnreadableReply):
                reading(text)


def test_the_end_mark_alone_means_no_records():
    end = "```\n< | complete | >\n```"
    for text in ("<|COMPLETE|>", end, "(&lt;|COMPLETED|&gt;)", "**COMPLETE**"):
        assert read(text) == RecordReply(text)


def test_bullets_brackets_quotes_and_surrounding_prose_are_ignored():
    for text in (
        LINES.replace('"relationship"', "**relation**"),
        LINES.replace("\n", ", "),
        LINES.replace("\n", "{record_delimiter}\n"),
        LINES.replace("(", "").replace(")", ""),
        LINES.replace("(", "[").replace(")", "]"),
        f"```text\n{LINES}\n```\nThat is all (I hope).",
        f"Here they are (all):\n\n- {ADA}\n- {BABBAGE}\n- {FRIENDS}\n\nI hope (it) helps.",
        f"**Records** (all)\n\n1. {ADA};\n2) {BABBAGE};\n> {FRIENDS}",
        LINES.replace('"entity"', "“entity”").replace("person", '"person"').replace("7", " `7` "),
        without_reasoning(f"<think>Is it (entity) ## <|>?</think>{LINES}"),
    ):
        assert read(text).records == ALL
    text = "## marks a heading, | a cell, (see a) and b) there"
    first = EntityRecord("MD", "thing", text)
    assert read(f'("entity"<|>MD<|>thing<|>{text})##{ADA}').records == (first, ALL[0])


def test_the_last_record_of_a_cut_reply_counts_if_a_separator_follows():
    assert read(LINES[:-30].lower(), cut=True).records[1].name == "babbage"
    assert read(f"{ADA}##{BABBAGE}##\n", cut=True).records == ALL[:2]
    assert read(f'{ADA}\n{BABBAGE}\n("enti', cut=True).records == ALL[:2]
    assert read(f"{ADA}\n{BABBAGE}", cut=True).records == ALL[:1]


def test_placeholder_names_and_copied_templates_are_no_records():
    for name in ("NONE", "N/A", "unknown", "Null", "-", '"None."', "(none)"):
        nothing = f'("entity"<|>{name}<|>none<|>-)'
        assert read(f"{nothing}<|COMPLETE|>").records == ()
        tied = FRIENDS.replace("BABBAGE", name)
        assert read(f"{ADA}##{nothing}##{tied}").records == ALL[:1] and not read(nothing).malformed
        text = f'("fact"<|>It stands.<|>9)##("entity"<|>{name}<|>-)'
        assert facts(text).records == (FactRecord("It stands.", (), 9),)
    template = '("entity"<|>NAME<|>type<|>description)##("relationship"<|>A<|>B<|>description<|>9)'
    assert read(f"{template}##{ADA}").records == ALL[:1]


def extracted(model, *texts, build=llm_text_extraction, **settings):
    return build(chunk_table=table(*texts), llm_build=model, progress=QUIET, **settings)


def test_between_rounds_the_model_is_asked_whether_records_are_missing():
    """With YES: first call, round 1, question, round 2, question, round 3."""
    for reply, n_calls in (("Yes.\r\n", 6), ("\tYES ", 6), ("No", 3), ("Sure", 3)):
        model = Scripted([("YES or NO", reply), ("missed", NORVIK), ("Passage", ADA)])
        result = extracted(model, "Ada.", max_gleaning=3)
        assert len(model.prompts) == n_calls
        assert len(result.rows[0].entities) == {6: 4, 3: 2}[n_calls]


def test_an_empty_failed_or_impossible_gleaning_round_keeps_the_first_records():
    """A reply without records ends the rounds; a window of 600 tokens allows no round."""
    for missed, window, n_failed, n_malformed in (
        ("<|COMPLETE|>", None, 0, 0),
        ("Nothing was missed.", None, 0, 0),
        (UNREADABLE, None, 1, 1),
        ("- Otto: person\n- Tarn: place", None, 1, 1),
        (CallFailed("context_overflow", "too long"), None, 1, 1),
        (ADA, 600, 1, 0),
    ):
        model = Scripted([("missed", missed), ("Passage", ADA)], window=window)
        result = extracted(model, "Ada.", max_tokens=256, max_gleaning=1 if n_failed else 5)
        assert result.rows == (values.ChunkRecords((ADA_READ,)),)
        names = ("failed_gleanings", "malformed_chunks", "failed_chunks")
        assert [result.statistics[name] for name in names] == [n_failed, n_malformed, 0]
        assert len(model.prompts) == (1 if window else 2)


def counts(ones: str, **others: int) -> dict[str, int]:
    """Return statistics: 1 for `ones`, the given numbers for `others`, and 0 else."""
    every = "malformed_records replies truncated_replies chunks failed_chunks malformed_chunks"
    every += " cut_chunks faulty_chunks failed_gleanings"
    return {**dict.fromkeys(every.split(), 0), **dict.fromkeys(ones.split(), 1), **others}


def test_statistics_count_malformed_records_and_facts():
    odd = f"{ADA}##(entity<|>X)##(relationship<|>A<|>B<|>A hates B.<|>-1)"
    result = extracted(Scripted([("Passage", odd)]), "Ada.", max_gleaning=0)
    ones = "entity_records relationship_records negative_strengths malformed_records replies chunks"
    assert result.statistics == counts(f"{ones} malformed_chunks faulty_chunks")
    cut = Completion(f"{STANDS}##{FACT}##(place<|>X)##(entity", finish="length")
    model = Scripted([("could not be read", "No."), ("Otto", "No."), ("Passage", cut)])
    told = extracted(model, "Ada.", "Otto.", build=llm_facts, max_gleaning=0)
    assert told.rows == (values.ChunkFacts((STANDING,)), values.ChunkFacts())
    ones = "fact_records entity_records facts_without_entities malformed_records truncated_replies"
    ones += " failed_chunks malformed_chunks cut_chunks"
    assert told.statistics == counts(ones, replies=3, chunks=2, faulty_chunks=2)


def test_replies_have_4096_tokens_or_what_the_window_leaves(monkeypatch):
    """In multiples of 256, with a margin; replies are in the order of the prompts."""
    limits, call = list[int](), Scripted.call
    monkeypatch.setattr(
        Scripted, "call", lambda own, one: limits.append(one.max_tokens) or call(own, one)
    )
    for window, settings, most in (
        (None, {}, 4096),
        (None, {"max_tokens": 9}, 9),
        (4096, {}, None),
    ):
        model = Scripted([("", f"{ADA}<|COMPLETE|>")], window=window)
        result = extracted(model, "Ada. " + "word " * 2000, "Ada.", max_gleaning=0, **settings)
        n_tokens = [sum(count_tokens(one.content) for one in prompt) for prompt in model.prompts]
        assert limits == [most or (4096 - int(n * 1.15)) // 256 * 256 for n in n_tokens]
        assert [len(row.entities) for row in result.rows] == [1, 1]
        limits.clear()


def test_too_many_cut_replies_are_an_error_that_names_the_setting(tmp_path):
    load_plugins()  # registers the builder of chunks
    known = dict.fromkeys(("chunk_table", "llm_build"), str)
    choices = {"text_extraction": {"variant": "llm", "max_gleaning": 0}}
    alone = plan({"text_extraction"}, choices, known)
    cut = Completion(f"{ADA}##(entity<|>NORV", finish="length")
    inputs = {"chunk_table": table("Ada."), "llm_build": Scripted([("", cut)])}

    def built(**settings):
        store = Store(tmp_path, QUIET, **settings)
        return store.resources(alone, {"text_extraction"}, inputs), store.recipe(alone[0])

    with pytest.raises(UserError) as raised:
        built()
    for name in ("build.text_extraction.max_tokens", "100.0%", "4,096", "failures.allow_cut"):
        assert name in str(raised.value)
    _, recipe = built(allow_cut=1.0)
    assert (recipe["statistics"]["truncated_replies"], recipe["statistics"]["replies"]) == (1, 1)


def test_facts_are_sentences_with_entities_and_the_title():
    for title, text, expected in (
        ("", "Otto came. nobody cared", [("Otto came.", ["Otto"])]),
        ("Norvik", "Ada Marsh founded Norvik. It stands on Tarn. Nobody cared", [
            ("Ada Marsh founded Norvik.", ["Norvik", "Ada Marsh"]),
            ("Norvik: It stands on Tarn.", ["Norvik", "It", "Tarn"]),
            ("Norvik: Nobody cared", ["Norvik", "Nobody"]),
        ]),
    ):  # fmt: skip
        chunks = table(text, title=title)
        (row,) = nlp_facts(chunk_table=chunks, nlp=Capitals(), progress=QUIET).rows
        assert row.facts == tuple(
            FactRecord(of, tuple(EntityRecord(name, "", of) for name in names))
            for of, names in expected
        )


def test_an_unreadable_layout_is_asked_again_and_never_counts_as_empty():
    for first, second, n_failed in (
        (UNREADABLE, f"{ADA}<|COMPLETE|>", 0),
        (UNREADABLE, "<|COMPLETE|>", 1),
        ("- Ada: person\n- Otto: person\n<|COMPLETE|>", "<|COMPLETE|>", 1),
        ("There are no entities in it.", "<|COMPLETE|>", 0),
    ):
        replies = [("could not be read", second), ("Otto", "<|COMPLETE|>"), ("Passage", first)]
        model = Scripted(replies)
        counts = extracted(model, "Ada.", "Otto.", max_gleaning=0).statistics
        assert (counts["failed_chunks"], counts["faulty_chunks"]) == (n_failed, n_failed)
        assert (counts["replies"], counts["chunks"]) == (3, 2)
