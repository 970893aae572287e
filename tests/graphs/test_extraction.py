"""Entities and triples of a chunk: out of an OpenIE file, by a tagger, by a model; pruning."""

import json
from itertools import combinations

import pytest
from builds import QUIET, FixedTagger, table

from graphrag_bench.algorithms.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.embedding import nlp as nlp_module
from graphrag_bench.embedding.nlp import Relation, Sentence, Spacy
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.extraction import CO_OCCURS, llm_extraction, nlp_extraction, openie_file
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted

ADA = "Ada Marsh\nAda Marsh founded Norvik."
OTTO = "Otto Brandt\nOtto Brandt taught Mira Holt."


@pytest.fixture
def openie(tmp_path):
    """A file with this content: a text, or passages as mappings."""

    def write(*content):
        path = tmp_path / "openie.json"
        text = content[0] if isinstance(content[0], str) else json.dumps({"docs": content})
        path.write_text(text, encoding="utf-8")
        return path

    return write


def passage(text: str, entities=(), triples=()) -> dict:
    return {
        "passage": text,
        "extracted_entities": list(entities),
        "extracted_triples": [list(triple) for triple in triples],
    }


def test_rows_come_in_chunk_order_whatever_the_order_and_spaces_of_the_file(openie):
    file = openie(
        passage(OTTO, ["Otto Brandt"], [("Otto Brandt", "taught", "Mira Holt")]),
        passage(" Ada Marsh \n\n Ada Marsh  founded\tNorvik.", ["Ada Marsh", "Norvik"]),
        passage("Another."),
    )
    result = openie_file(chunk_table=table(ADA, OTTO), openie=file)
    assert result.rows == (
        ChunkExtraction(("Ada Marsh", "Norvik"), ()),
        ChunkExtraction(("Otto Brandt",), (Triple("Otto Brandt", "taught", "Mira Holt"),)),
    )
    assert result.statistics == {"triples": 1, "skipped_triples": 0}


def test_what_is_no_triple_is_skipped_and_counted(openie):
    odd = [["a", "r", "b"], ["a", "r"], ["a", "r", "b", "c"], ["a", 1, "b"], [], [["x", "r", "y"]]]
    result = openie_file(chunk_table=table(ADA), openie=openie(passage(ADA, [], odd)))
    assert result.rows[0].triples == (Triple("a", "r", "b"), Triple("x", "r", "y"))
    assert result.statistics == {"triples": 2, "skipped_triples": 4}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ([passage(OTTO)], "1 of 1"),
        (["{not json"], "line 1"),
        (["[]"], "'docs'"),
        ([{"passage": ADA, "extracted_triples": None}], "docs 0: the field 'extracted_triples'"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_the_place(openie, content, place):
    file = openie(*content)
    with pytest.raises(UserError) as raised:
        openie_file(chunk_table=table(ADA), openie=file)
    assert str(file) in str(raised.value)
    assert place in str(raised.value)


def sentence(*names: str, phrases=(), relations=(), pronouns=(), label="PERSON") -> Sentence:
    entities = tuple((name, label) for name in names)
    triples = tuple(Relation(*relation) for relation in relations)
    return Sentence("", entities, tuple(phrases), triples, frozenset(pronouns))


def read(*sentences: Sentence, about: str = "", **settings) -> ChunkExtraction:
    """The row that a tagger's sentences, of a passage with this title, come to."""
    result = nlp_extraction(
        chunk_table=table("Some text.", title=about),
        nlp=FixedTagger(*sentences),
        progress=QUIET,
        **settings,
    )
    return result.rows[0]


def triples(row: ChunkExtraction) -> list[tuple[str, str, str]]:
    return [(triple.head, triple.relation, triple.tail) for triple in row.triples]


FACT = ("Ada", "found", "Norvik")


@pytest.mark.parametrize(
    ("sentences", "title", "entities", "expected"),
    [
        ([sentence("Ada", "Norvik", "Tarn", relations=[FACT])], "", ("Ada", "Norvik", "Tarn"),
         [FACT, ("Ada", CO_OCCURS, "Tarn"), ("Norvik", CO_OCCURS, "Tarn")]),
        ([sentence(*"abcdefghi")], "", tuple("abcdefghi"), []),
        ([sentence(*"abcdefgh")], "", tuple("abcdefgh"),
         [(head, CO_OCCURS, tail) for head, tail in combinations("abcdefgh", 2)]),
        ([sentence("1901", "Ada", label="DATE")], "", ("1901", "Ada"), []),
        ([sentence("Ada", phrases=["observatory"], relations=[("Ada", "found", "observatory")])],
         "", ("Ada", "observatory"), [("Ada", "found", "observatory")]),
        ([sentence("Norvik"), sentence("Ada", "Tarn")], "Ada", ("Ada", "Norvik", "Tarn"),
         [("Ada", CO_OCCURS, "Norvik"), ("Ada", CO_OCCURS, "Tarn")]),
        ([sentence("Norvik", relations=[("She", "found", "Norvik")], pronouns=["She"])],
         "Ada", ("Ada", "Norvik"), [FACT]),
    ],
)  # fmt: skip
def test_relations_join_names_and_phrases_and_other_names_co_occur(
    sentences, title, entities, expected
):
    """Up to eight names of a sentence, dates apart, with the title, which stands for pronouns."""
    row = read(*sentences, about=title)
    assert (row.entities, triples(row)) == (entities, expected)


@pytest.mark.real
def test_a_text_of_any_length_is_read_in_pieces_and_soft_hyphens_cut_no_name(monkeypatch):
    text = "Marie Cu\u00adrie was born in War\u200bsaw. Pierre Curie was born in Paris.\n" * 3
    monkeypatch.setattr(nlp_module, "_MAX_PIECE", 80)
    assert Spacy().entities(text) == ["Marie Curie", "Warsaw", "Pierre Curie", "Paris"] * 3


def test_a_tagger_that_is_not_installed_is_an_error_with_the_remedy():
    with pytest.raises(UserError, match="nlp"):
        Spacy("no_such_model").entities("Ada")


NONSENSE = "I would rather not."


def names_reply(*names: str) -> str:
    return json.dumps({"named_entities": names})


def facts_reply(*facts: list[str]) -> str:
    return json.dumps({"triples": facts})


def extracted(model: Scripted, *texts: str) -> Extraction:
    return llm_extraction(chunk_table=table(*texts), llm_build=model, progress=QUIET)


def counts(**other: int) -> dict[str, int]:
    """The statistics of a chunk with one triple in two replies, but for these."""
    usual = {"triples": 1, "skipped_triples": 0, "replies": 2, "truncated_replies": 0, "chunks": 1}
    faults = ("failed_chunks", "malformed_chunks", "cut_chunks", "faulty_chunks")
    return {**usual, **dict.fromkeys(faults, 0), **other}


def test_first_the_names_are_asked_for_then_with_them_the_facts():
    result = facts_reply(["Ada Marsh", "founded", "Norvik"], ["a", "r"], ["a", " ", "b"])
    model = Scripted([("Entities:", result), ("founded", names_reply("Ada Marsh", "Norvik"))])
    read = extracted(model, "Ada Marsh founded Norvik.")
    triple = Triple("Ada Marsh", "founded", "Norvik")
    assert read.rows == (ChunkExtraction(("Ada Marsh", "Norvik"), (triple,)),)
    assert '["Ada Marsh", "Norvik"]' in model.prompts[1][-1].content
    assert read.statistics == counts(skipped_triples=2, malformed_chunks=1, faulty_chunks=1)


def test_a_chunk_that_cannot_be_read_gives_what_it_gave_and_is_counted():
    """The first chunk gives no names, the second names and no facts, the third both."""
    model = Scripted([
        ("could not be read", NONSENSE),
        ("re:second.*Entities:", NONSENSE),
        ("re:third.*Entities:", facts_reply(["c", "r", "d"])),
        ("first", NONSENSE),
        ("second", names_reply("b")),
        ("third", names_reply("c")),
    ])  # fmt: skip
    result = extracted(model, "The first.", "The second.", "The third.")
    assert [row.entities for row in result.rows] == [(), ("b",), ("c",)]
    assert [row.triples for row in result.rows] == [(), (), (Triple("c", "r", "d"),)]
    assert result.statistics == counts(replies=7, chunks=3, failed_chunks=2, faulty_chunks=2)


def test_a_reply_that_was_cut_gives_its_whole_triples_and_is_counted():
    """The third triple is cut in the middle of its tail: it may be half a name."""
    message = facts_reply(["a", "r", "b"], ["b, too", "s", "c [x]"], ["c", "t", "do"])
    cut = Completion(message[: message.index("do") + 1], finish="length")
    model = Scripted([("Entities:", cut), ("Passage:", names_reply("a", "b", "c"))])
    result = extracted(model, "About a, b and c.")
    assert result.rows[0].triples == (Triple("a", "r", "b"), Triple("b, too", "s", "c [x]"))
    faults = {"truncated_replies": 1, "cut_chunks": 1, "faulty_chunks": 1}
    assert result.statistics == counts(triples=2, **faults)
    assert len(model.prompts) == 2  # no second reply is paid for
