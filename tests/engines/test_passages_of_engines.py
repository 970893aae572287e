"""Passages of an engine as chunks of ours, and its context in pieces within a budget."""

from __future__ import annotations

import json

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.engine_replies import EnginePassage, WrongReply, read_reply
from graphrag_bench.models.tokenizer import BytePairs
from methods.original.passages import mapped, packed, ranked, whole

TABLE = ChunkTable.of(
    [("ada", "Ada", "Ada founded Norvik."), ("otto", "Otto", "Otto built it."),
     ("mira", "", 'Mira said "no" to Otto.')]
)  # fmt: skip


def passage(text: str, name: str | None = None, score: float | None = None) -> EnginePassage:
    return EnginePassage(name, text, score)


def rows_of(*passages: EnginePassage, named: bool = True) -> list[tuple[int, ...]]:
    return [one.rows for one in mapped(passages, TABLE, named=named)]


def test_a_passage_with_the_name_of_our_chunk_is_that_chunk() -> None:
    assert rows_of(passage("whatever the engine made of it", "chunk-1")) == [(1,)]


def test_a_name_of_the_engine_that_looks_like_ours_is_not_one_of_ours() -> None:
    assert rows_of(passage("Ada founded Norvik.", "chunk-1"), named=False) == [(0,)]
    assert rows_of(passage("a text of nobody", "chunk-99")) == [()]


def test_a_passage_is_mapped_by_its_text_spaces_and_title_aside() -> None:
    assert rows_of(passage("Ada founded\n Norvik."), passage("Ada\nAda founded Norvik.")) == [
        (0,), (0,),
    ]  # fmt: skip


def test_a_larger_passage_holds_our_chunks_in_the_order_of_its_text() -> None:
    assert rows_of(passage("Otto Otto built it. Ada Ada founded Norvik.")) == [(1, 0)]


def test_a_smaller_passage_is_the_chunk_that_holds_it() -> None:
    assert rows_of(passage("founded Norvik")) == [(0,)]


def test_chunks_are_ranked_by_the_first_passage_that_holds_them() -> None:
    passages = [
        passage("Otto built it.", score=0.2),
        passage("Ada founded Norvik. Otto built it.", score=0.9),
    ]
    found = ranked(mapped(passages, TABLE, named=False))
    assert found.items() == [(1, 0.2), (0, 0.9)]


def test_without_the_engines_scores_a_passage_has_one_over_its_rank() -> None:
    passages = [passage("Otto built it.", score=0.2), passage("Ada founded Norvik.")]
    assert ranked(mapped(passages, TABLE, named=False)).items() == [(1, 1.0), (0, 0.5)]


def pieces(context: str, *passages: EnginePassage, budget: int | None = None):
    made = packed(context, mapped(passages, TABLE, named=False), TABLE, BytePairs(), budget)
    return [(one.kind, one.id, one.text) for one in made.pieces], made


def test_a_context_is_its_passages_and_the_lines_between_them() -> None:
    sent = "Entities\nAda, Norvik\n\nSources\nOtto built it.\n; Ada founded Norvik.\nend"
    found, made = pieces(
        sent,
        passage("Ada founded Norvik."), passage("Otto built it."),
    )  # fmt: skip
    assert found == [
        ("engine", "1", "Entities\nAda, Norvik\n\nSources\n"),
        ("chunk", "otto", "Otto built it."),
        ("engine", "2", "\n; "),
        ("chunk", "ada", "Ada founded Norvik."),
        ("engine", "3", "\nend"),
    ]
    assert whole(made.pieces) == sent


def test_a_passage_inside_a_string_of_json_is_found() -> None:
    text = 'Mira said "no" to Otto.'
    found, _ = pieces(json.dumps({"content": text}), passage(text))
    assert found[1] == ("chunk", "mira", json.dumps(text)[1:-1])


def test_an_engine_without_a_context_of_its_own_has_its_passages() -> None:
    found, made = pieces(" ", passage("nobody's"), passage("Ada founded Norvik."))
    assert found == [("passage", "1", "nobody's"), ("chunk", "ada", "Ada founded Norvik.")]
    assert whole(made.pieces) == "nobody's\n\nAda founded Norvik."


def test_what_comes_after_the_first_that_does_not_fit_is_cut_and_a_line_keeps_its_words() -> None:
    context = "one two three four five six\nAda founded Norvik.\nOtto built it."
    passages = passage("Ada founded Norvik."), passage("Otto built it.")
    found, made = pieces(context, *passages, budget=5)
    assert found == [("engine", "1", "one two three four five")]
    assert made.n_tokens <= 5
    assert made.cut == (("chunk", "ada"), ("chunk", "otto"))
    found, made = pieces(context, *passages, budget=15)
    assert [kind for kind, _, _ in found] == ["engine", "chunk"]
    assert made.cut == (("chunk", "otto"),)


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"passages": [], "context": None},
        {"passages": ["text"], "context": ""},
        {"passages": [{"text": 3}], "context": ""},
        {"passages": [], "context": "", "answer": " "},
    ],
)
def test_a_reply_of_another_form_is_refused(result: dict[str, object]) -> None:
    with pytest.raises(WrongReply):
        read_reply(result, answer=True)
