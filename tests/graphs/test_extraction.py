"""Extraction of entities and triples by an OpenIE file, a tagger and a model."""

import json
from itertools import combinations

import pytest
from builds import QUIET, FixedTagger, table
from toy_runs import TOY

from graphrag_bench.algorithms.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.embedding import nlp as nlp_module
from graphrag_bench.embedding.nlp import Relation, Sentence, Spacy
from graphrag_bench.embedding.workers import ParallelTagger
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.extraction import CO_OCCURS, llm_extraction, nlp_extraction, openie_file
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.run.models import Models

SPACY = "graphrag_bench.embedding.nlp.Spacy"
ADA = "Ada Marsh\nAda Marsh founded Norvik."
OTTO = "Otto Brandt\nOtto Brandt taught Mira Holt."


def passage(text: str, entities=(), triples=()) -> dict:
    fields = {"extracted_entities": list(entities), "extracted_triples": list(triples)}
    return {"passage": text, **fields}


def test_passages_of_a_file_are_found_by_text_and_odd_triples_are_counted(tmp_path):
    odd = [["a", "r", "b"], ["a", "r"], ["a", "r", "b", "c"], ["a", 1, "b"], [], [["x", "r", "y"]]]
    content = [
        passage(OTTO, ["Otto"], odd), passage("Another."),
        passage(" Ada Marsh \n\n Ada Marsh  founded\tNorvik.", ["Ada Marsh", "Norvik"]),
    ]  # fmt: skip
    file = tmp_path / "openie.json"
    file.write_text(json.dumps({"docs": content}))
    result = openie_file(chunk_table=table(ADA, OTTO), openie=file)
    read = Triple("a", "r", "b"), Triple("x", "r", "y")
    first = ChunkExtraction(("Ada Marsh", "Norvik"), ())
    assert result.rows == (first, ChunkExtraction(("Otto",), read))
    assert result.statistics == {"triples": 2, "skipped_triples": 4}
    for text, place in (
        ("{not json", "line 1"), ("[]", "'docs'"),
        (json.dumps({"docs": [passage(OTTO)]}), "1 of 1"),
        (json.dumps({"docs": [{"passage": ADA, "extracted_triples": None}]}),
         "docs 0: the field 'extracted_triples'"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(UserError) as raised:
            openie_file(chunk_table=table(ADA), openie=file)
        assert str(file) in str(raised.value) and place in str(raised.value)


def sentence(*names: str, phrases=(), relations=(), pronouns=(), label="PERSON") -> Sentence:
    entities = tuple((name, label) for name in names)
    triples = tuple(Relation(*relation) for relation in relations)
    return Sentence("", entities, tuple(phrases), triples, frozenset(pronouns))


FACT = ("Ada", "found", "Norvik")


def test_relations_join_names_and_phrases_and_other_names_co_occur():
    """At most eight names of a sentence, without dates; the title replaces pronouns."""
    for sentences, title, entities, expected in (
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
    ):  # fmt: skip
        inputs = {"chunk_table": table("A text.", title=title), "progress": QUIET}
        (row,) = nlp_extraction(nlp=FixedTagger(*sentences), **inputs).rows
        assert row == ChunkExtraction(entities, tuple(Triple(*one) for one in expected))


@pytest.mark.real
def test_long_texts_are_tagged_in_pieces_and_soft_hyphens_split_no_name(monkeypatch):
    text = "Marie Cu\u00adrie was born in War\u200bsaw. Pierre Curie was born in Paris.\n" * 3
    monkeypatch.setattr(nlp_module, "_MAX_PIECE", 80)
    assert Spacy().entities(text) == ["Marie Curie", "Warsaw", "Pierre Curie", "Paris"] * 3


def test_a_missing_tagger_or_gpu_is_an_error_that_names_its_package_or_setting(monkeypatch):
    with pytest.raises(UserError, match=r"nlp\.device"):
        Spacy(device="cuda").entities("Ada")
    with pytest.raises(UserError, match="spacy download en_core_web_none"):
        _ = Spacy("en_core_web_none").identity
    monkeypatch.setattr(nlp_module, "PACKAGED", "en_core_web_none")
    with pytest.raises(UserError, match=r"graphrag-bench\[nlp\]"):
        _ = Spacy("en_core_web_none").identity


def test_a_transformer_is_on_a_gpu_by_default_and_needs_no_worker_processes(monkeypatch, home):
    import spacy

    monkeypatch.setattr(nlp_module, "version", lambda name: "1.0")
    settings = compose_settings(TOY)
    for model, device, gpu, expected in (
        ("en_core_web_trf", "auto", True, True), ("en_core_web_trf", "auto", False, False),
        ("en_core_web_trf", "cpu", True, False), (nlp_module.PACKAGED, "auto", True, False),
        (nlp_module.PACKAGED, "cuda", False, True),
    ):  # fmt: skip
        monkeypatch.setattr(spacy, "prefer_gpu", lambda gpu=gpu: gpu)
        tagger = Spacy(model, device)
        assert tagger.on_gpu == tagger.identity.endswith(":cuda") == expected
        settings["nlp"] = {"_target_": SPACY, "model": model, "device": device}
        models = Models(RunSettings.model_validate(settings), dataset=None)
        assert isinstance(models.nlp.inner, ParallelTagger) != expected, (model, device)


def names_reply(*names: str) -> str:
    return json.dumps({"named_entities": names})


def facts_reply(*facts: list[str]) -> str:
    return json.dumps({"triples": facts})


def extracted(model: Scripted, *texts: str) -> Extraction:
    return llm_extraction(chunk_table=table(*texts), llm_build=model, progress=QUIET)


def counts(**other: int) -> dict[str, int]:
    """Return the statistics of one chunk, one triple and two replies, with these changes."""
    usual = {"triples": 1, "skipped_triples": 0, "replies": 2, "truncated_replies": 0, "chunks": 1}
    faults = ("failed_chunks", "malformed_chunks", "cut_chunks", "faulty_chunks")
    return {**usual, **dict.fromkeys(faults, 0), **other}


def test_the_model_is_asked_for_entities_and_then_for_their_triples():
    result = facts_reply(["Ada Marsh", "founded", "Norvik"], ["a", "r"], ["a", " ", "b"])
    model = Scripted([("Entities:", result), ("founded", names_reply("Ada Marsh", "Norvik"))])
    read = extracted(model, "Ada Marsh founded Norvik.")
    triple = Triple("Ada Marsh", "founded", "Norvik")
    assert read.rows == (ChunkExtraction(("Ada Marsh", "Norvik"), (triple,)),)
    assert '["Ada Marsh", "Norvik"]' in model.prompts[1][-1].content
    assert read.statistics == counts(skipped_triples=2, malformed_chunks=1, faulty_chunks=1)


def test_unreadable_replies_are_counted_and_readable_ones_kept():
    """The first chunk has no readable reply, the second entities only, the third both."""
    model = Scripted([
        ("could not be read", "No."), ("re:second.*Entities:", "No."), ("first", "No."),
        ("re:third.*Entities:", facts_reply(["c", "r", "d"])), ("second", names_reply("b")),
        ("third", names_reply("c")),
    ])  # fmt: skip
    result = extracted(model, "The first.", "The second.", "The third.")
    assert [row.entities for row in result.rows] == [(), ("b",), ("c",)]
    assert [row.triples for row in result.rows] == [(), (), (Triple("c", "r", "d"),)]
    assert result.statistics == counts(replies=7, chunks=3, failed_chunks=2, faulty_chunks=2)


def test_the_complete_triples_of_a_cut_reply_are_kept():
    """The third triple is cut within its tail, which may be half a name."""
    message = facts_reply(["a", "r", "b"], ["b, too", "s", "c [x]"], ["c", "t", "do"])
    cut = Completion(message[: message.index("do") + 1], finish="length")
    model = Scripted([("Entities:", cut), ("Passage:", names_reply("a", "b", "c"))])
    result = extracted(model, "About a, b and c.")
    assert result.rows[0].triples == (Triple("a", "r", "b"), Triple("b, too", "s", "c [x]"))
    faults = {"truncated_replies": 1, "cut_chunks": 1, "faulty_chunks": 1}
    assert result.statistics == counts(triples=2, **faults)
    assert len(model.prompts) == 2  # no second reply is paid for
