"""Entities and triples of a chunk by a language model, with planned replies."""

import json

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.offline.llm_extraction import llm_extraction
from graphrag_bench.progress import Progress
from graphrag_bench.text import count_tokens

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
    assert made.statistics == {
        "triples": 1,
        "skipped_triples": 2,
        "replies": 2,
        "truncated_replies": 0,
        "failed_chunks": 0,
    }


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
    assert made.statistics == {
        "triples": 1,
        "skipped_triples": 0,
        "replies": 7,
        "truncated_replies": 0,
        "failed_chunks": 2,
    }


def cut(text: str) -> Completion:
    return Completion(text, 10, 512, "length")


def test_a_reply_that_was_cut_gives_its_whole_triples_and_is_counted():
    """The third triple is cut in the middle of its tail: it may be half a name."""
    said = facts(["a", "r", "b"], ["b, too", "s", "c [x]"], ["c", "t", "do"])
    model = Scripted(
        [("Entities:", cut(said[: said.index("do") + 1])), ("Passage:", names("a", "b", "c"))]
    )
    made = extracted(model, "About a, b and c.")
    assert made.rows[0].triples == (Triple("a", "r", "b"), Triple("b, too", "s", "c [x]"))
    assert made.statistics == {
        "triples": 2,
        "skipped_triples": 0,
        "replies": 2,
        "truncated_replies": 1,
        "failed_chunks": 0,
    }
    assert len(model.asked) == 2  # no second reply is paid for


def test_names_of_a_reply_that_was_cut_are_kept_as_far_as_they_are_whole():
    model = Scripted(
        [
            ("Entities:", facts(["Ada Marsh", "founded", "Norvik"])),
            ("Ada Marsh founded", cut('{"named_entities": ["Ada Marsh", "Norv')),
        ]
    )
    made = extracted(model, "Ada Marsh founded Norvik.")
    assert made.rows[0].entities == ("Ada Marsh",)
    assert '["Ada Marsh"]' in model.asked[1][-1].content
    assert len(made.rows[0].triples) == 1
    assert made.statistics["truncated_replies"] == 1


def test_a_cut_reply_without_a_whole_triple_is_asked_for_again():
    model = Scripted(
        [
            ("cut off before its end", facts(["a", "r", "b"])),
            ("Entities:", cut('{"triples": [["a", "r"')),
            ("Passage:", names("a", "b")),
        ]
    )
    made = extracted(model, "About a and b.")
    assert (made.statistics["triples"], made.statistics["truncated_replies"]) == (1, 1)


def test_a_reply_of_45_triples_has_room():
    """670 tokens: more than the 512 that replies were once cut at."""
    said = facts(*(["Ada Marsh", f"founded number {row}", "Norvik"] for row in range(45)))
    asked: list[int] = []

    class Measuring(Scripted):
        def call(self, request: Request) -> Completion:
            asked.append(request.max_tokens)
            return super().call(request)

    model = Measuring([("Entities:", said), ("Passage:", names("Ada Marsh"))])
    assert len(extracted(model, "Ada Marsh founded.").rows[0].triples) == 45
    assert asked[1] >= count_tokens(said) > 512


def test_a_model_that_reads_nothing_at_all_is_refused():
    with pytest.raises(UserError, match="none of 2 replies .0%. could be read") as raised:
        extracted(Scripted([("", NONSENSE)]), "One.", "Two.")
    assert "build.extraction=nlp" in str(raised.value)
