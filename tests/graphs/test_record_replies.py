"""Parsing of records in the many layouts that models write."""

from functools import partial
from itertools import product

import pytest

from graphrag_bench.algorithms.extraction import EntityRecord, FactRecord, RelationshipRecord
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graphs.records import Record, RecordReply, read_facts, read_records
from graphrag_bench.llm.openai_compatible import without_reasoning

ADA = '("entity"<|>ADA<|>person<|>Ada wrote notes.)'
BABBAGE = '("entity"<|>BABBAGE<|>person<|>Babbage made engines.)'
FRIENDS = '("relationship"<|>ADA<|>BABBAGE<|>They were friends.<|>7)'
ALL: tuple[Record, ...] = (
    EntityRecord("ADA", "person", "Ada wrote notes."),
    EntityRecord("BABBAGE", "person", "Babbage made engines."),
    RelationshipRecord("ADA", "BABBAGE", "They were friends.", (), 7.0),
)
LINES = f"{ADA}\n{BABBAGE}\n{FRIENDS}\n<|COMPLETE|>"
MARKS = (
    "<|>", "<||>", "<|#|>", "< | >", "＜|＞", "<｜>", "&lt;|&gt;", "<\\|>", "<|tuple|>", "<|>|",
    "{tuple_delimiter}", "<SEP>", " | ", "\t", "\\t",
)  # fmt: skip


def read(text: str, cut: bool = False) -> RecordReply:
    return read_records(text, cut, keywords=False, purpose="test")


def test_common_delimiters_are_read() -> None:
    for mark, end in product(MARKS, ("\n", "##\n", " ")):
        reply = read(LINES.replace("\n", end).replace("<|>", mark))
        assert (reply.records, reply.malformed) == (ALL, 0), (mark, end)


def test_tables_quotes_and_mixed_delimiters_are_read() -> None:
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


def test_other_layouts_prose_and_empty_replies_are_unreadable() -> None:
    for text in (
        "**Entities**\n- Ada: person\n<|COMPLETE|>",
        '{"entities": [{"name": "ADA", "type": "person"}]}<|COMPLETE|>',
        "There are no entities. <|COMPLETE|>",
        ADA.replace("<|>", " ~ ") + "<|COMPLETE|>",
        "| Entity | Type | Text |\n|---|---|---|\n| ADA | person | She wrote. |\n<|COMPLETE|>",
        *("", "I would rather not.", "(entity<|>A)<|COMPLETE|>", "{}"),
    ):
        for reading in (read, partial(read_facts, cut=False, purpose="test")):
            with pytest.raises(UnreadableReply):
                reading(text)


def test_the_end_mark_alone_means_no_records() -> None:
    end = "```\n< | complete | >\n```"
    for text in ("<|COMPLETE|>", end, "(&lt;|COMPLETED|&gt;)", "**COMPLETE**"):
        assert read(text) == RecordReply(text)


def test_bullets_brackets_quotes_and_surrounding_prose_are_ignored() -> None:
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


def test_the_last_record_of_a_cut_reply_counts_if_a_separator_follows() -> None:
    assert read(LINES[:-30].lower(), cut=True).records[1].name == "babbage"  # type: ignore[union-attr]
    assert read(f"{ADA}##{BABBAGE}##\n", cut=True).records == ALL[:2]
    assert read(f'{ADA}\n{BABBAGE}\n("enti', cut=True).records == ALL[:2]
    assert read(f"{ADA}\n{BABBAGE}", cut=True).records == ALL[:1]


def test_placeholder_names_and_copied_templates_are_no_records() -> None:
    for name in ("NONE", "N/A", "unknown", "Null", "-", '"None."', "(none)"):
        nothing = f'("entity"<|>{name}<|>none<|>-)'
        assert read(f"{nothing}<|COMPLETE|>").records == ()
        tied = FRIENDS.replace("BABBAGE", name)
        assert (read(f"{ADA}##{nothing}##{tied}").records, read(nothing).malformed) == (ALL[:1], 0)
        text = f'("fact"<|>It stands.<|>9)##("entity"<|>{name}<|>-)'
        assert read_facts(text, False, purpose="test").records == (FactRecord("It stands.", (), 9),)
    template = '("entity"<|>NAME<|>type<|>description)##("relationship"<|>A<|>B<|>description<|>9)'
    assert read(f"{template}##{ADA}").records == ALL[:1]
