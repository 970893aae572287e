"""Entities and triples of a chunk by a language model, with planned replies."""

import json

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.offline.llm_extraction import llm_extraction
from graphrag_bench.progress import Progress

NONSENSE = "I would rather not."
ASKED_AGAIN = ("could not be read", NONSENSE)


def names(*found: str) -> str:
    return json.dumps({"named_entities": found})


def facts(*found: list[str]) -> str:
    return json.dumps({"triples": found})


def extracted(model: Scripted, *texts: str) -> Extraction:
    table = ChunkTable.of([(f"d{row}", "", text) for row, text in enumerate(texts)])
    return llm_extraction(chunk_table=table, llm_build=model, progress=Progress(quiet=True))


def test_first_the_names_are_asked_for_then_with_them_the_facts():
    model = Scripted(
        [
            ("Entities:", facts(["Ada Marsh", "founded", "Norvik"])),
            ("Ada Marsh founded Norvik.", names("Ada Marsh", "Norvik")),
        ]
    )
    made = extracted(model, "Ada Marsh founded Norvik.")
    assert made.rows == (
        ChunkExtraction(("Ada Marsh", "Norvik"), (Triple("Ada Marsh", "founded", "Norvik"),)),
    )
    assert len(model.asked) == 2
    assert '["Ada Marsh", "Norvik"]' in model.asked[1][-1].content


def test_triples_that_are_not_three_texts_are_skipped_and_counted():
    model = Scripted(
        [
            ("Entities:", facts(["a", "r", "b"], ["a", "r"], ["a", " ", "b"])),
            ("Passage:", names("a", "b")),
        ]
    )
    made = extracted(model, "About a and b.")
    assert made.rows[0].triples == (Triple("a", "r", "b"),)
    assert made.statistics == {"triples": 1, "skipped_triples": 2, "failed_chunks": 0}


def test_a_chunk_that_cannot_be_read_gives_what_it_gave_and_is_counted():
    """The first chunk gives no names, the second names and no facts, the third both."""
    model = Scripted(
        [
            ASKED_AGAIN,
            ("re:second.*Entities:", NONSENSE),
            ("re:third.*Entities:", facts(["c", "r", "d"])),
            ("first", NONSENSE),
            ("second", names("b")),
            ("third", names("c")),
        ]
    )
    made = extracted(model, "The first.", "The second.", "The third.")
    assert made.rows == (
        ChunkExtraction((), ()),
        ChunkExtraction(("b",), ()),
        ChunkExtraction(("c",), (Triple("c", "r", "d"),)),
    )
    assert made.statistics == {"triples": 1, "skipped_triples": 0, "failed_chunks": 2}


def test_a_model_that_reads_nothing_at_all_is_refused():
    with pytest.raises(UserError, match="none of 2 replies .0%. could be read") as raised:
        extracted(Scripted([("", NONSENSE)]), "One.", "Two.")
    assert "build.extraction=nlp" in str(raised.value)
