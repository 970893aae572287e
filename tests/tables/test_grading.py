"""Grades say what a figure may be compared with, and name everything that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphrag_bench.papers.names import Model
from graphrag_bench.papers.printed import (
    PrintedSize,
    load_table,
    printed_sizes,
)
from graphrag_bench.tables.grading import (
    Ours,
    Theirs,
    different_settings,
    grade,
    grade_of_sizes,
)

LLAMA = Model.model_validate({"is": "llama-?3-8b", "run": []})
MINI = Model.model_validate({"is": "gpt-4o-mini", "run": []})
GPT = Model.model_validate({"is": "gpt-4o(?!-mini)", "run": []})
BGE = Model.model_validate({"is": "bge-m3", "run": []})
SETTINGS: dict[str, object] = {"method.name": "hipporag", "method.damping": 0.1}
SIZES = (PrintedSize("tokens", 2_630_554), PrintedSize("documents", 33_595))
THEIRS = Theirs(
    "popqa", "PopQA", 1172, "Llama-3-8B", LLAMA, "BGE-M3", BGE, SETTINGS, sizes=SIZES
)  # fmt: skip
OURS = Ours(
    "popqa", 1172, "Meta-Llama-3-8B-Instruct:ab12", "sentence-transformers:BAAI/bge-m3@1",
    SETTINGS, papers_prompts=True, sizes={"documents": 33_595, "tokens": 2_630_554},
)  # fmt: skip


def test_the_same_data_models_settings_and_prompts_are_grade_a() -> None:
    found = grade(OURS, THEIRS)
    assert (found.letter, found.others, found.differences) == ("A", (), ())
    assert found.comparable


def test_prompts_of_our_own_words_alone_make_it_b() -> None:
    found = grade(replace(OURS, papers_prompts=False), THEIRS)
    assert (found.letter, found.differences) == ("B", ("prompts: in this project's words",))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n_questions": 1171}, "questions: 1,171, not 1,172"),
        ({"embedder": "hashing:256"}, "embedder: hashing:256, not BGE-M3"),
        ({"llm": "Meta-Llama-3-8B-Instruct.Q4_K_M.gguf@1"}, "model: quantised (Q4_K_M)"),
        ({"llm_build": "gpt-4o-mini:1"}, "build model: gpt-4o-mini:1, not Llama-3-8B"),
        ({"settings": {**SETTINGS, "method.damping": 0.5}}, "damping: 0.5, not 0.1"),
        ({"verified": False}, "data: this card was not checked against the original"),
    ],
)
def test_each_thing_that_differs_makes_it_b_and_is_named(
    change: dict[str, object], named: str
) -> None:
    found = grade(replace(OURS, **change), THEIRS)  # type: ignore[arg-type]
    assert (found.letter, found.differences) == ("B", (named,))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sizes": {"documents": 1_890, "tokens": 2_630_554}}, "documents: 1,890, not 33,595"),
        ({"sizes": {"documents": 33_595, "tokens": 2_577_942}}, "tokens: 2,577,942, not 2,630,554"),
        ({"n_questions": 1148}, "questions: 1,148, not 1,172"),
        ({"limit": 1172}, "questions: limit=1172"),
        ({"split": "test"}, "questions: split=test"),
        ({"sizes": {}}, "corpus: the data set of the run is not at hand, so that no size is known"),
    ],
)
def test_a_part_of_the_corpus_or_of_the_questions_is_c(
    change: dict[str, object], named: str
) -> None:
    found = grade(replace(OURS, **change), THEIRS)  # type: ignore[arg-type]
    assert (found.letter, found.others, found.differences) == ("C", (named,), ())


def test_sizes_within_two_percent_are_the_same() -> None:
    """2 % of 33,595 are 671.9, of 2,630,554 tokens 52,611.08, and of 1,172 questions 23.44."""
    near = replace(OURS, sizes={"documents": 34_266, "tokens": 2_577_943}, n_questions=1149)
    found = grade(near, THEIRS)
    assert (found.letter, found.differences) == ("B", ("questions: 1,149, not 1,172",))


def test_a_sample_that_the_row_itself_states_is_no_part() -> None:
    asked = replace(THEIRS, n_questions=100, sampled=True)
    found = grade(replace(OURS, n_questions=100, limit=100), asked)
    assert (found.letter, found.differences) == ("B", ("questions: another sample of as many",))


def test_what_is_only_counted_is_a_where_the_corpus_has_the_printed_sizes() -> None:
    assert grade_of_sizes(replace(OURS, limit=1, n_questions=1, llm=""), THEIRS).letter == "A"
    part = grade_of_sizes(replace(OURS, sizes={"documents": 9, "tokens": 2_630_554}), THEIRS)
    assert (part.letter, part.others) == ("C", ("documents: 9, not 33,595",))


def test_the_printed_sizes_of_a_corpus_are_those_of_its_card() -> None:
    assert {one.what: one.value for one in printed_sizes("zhou2025", "musique")} == {
        "tokens": 3_280_174, "documents": 29_898,
    }  # fmt: skip
    assert printed_sizes("zhou2025tr", "musique") == printed_sizes("zhou2025", "musique")
    assert printed_sizes("pathrag", "ultradomain_mix") == ()


@pytest.mark.parametrize(
    ("note", "value", "same", "other"),
    [("printed 2.3M", 2_300_000, 2_250_000, 2_249_999), ("", 1_000, 1_020, 1_021),
     ("printed 2M", 2_000_000, 1_500_000, 1_499_999), ("printed 619K", 619_000, 606_620, 606_619)],
)  # fmt: skip
def test_a_rounded_size_agrees_with_all_that_rounds_to_it(
    note: str, value: int, same: int, other: int
) -> None:
    cell = load_table("zhou2025/table4").cells[0]
    size = PrintedSize.of(replace(cell, value=float(value), note=note), "tokens")
    assert size.differs(same) == ""
    assert size.differs(other) == f"tokens: {other:,}, not {value:,}"


def test_other_data_is_c_whatever_else_is_the_same() -> None:
    found = grade(replace(OURS, dataset="sample"), THEIRS)
    assert (found.letter, found.others) == ("C", ("data: sample, not PopQA",))
    assert not found.comparable


@pytest.mark.parametrize("llm", ["Llama-3.1-8B-Instruct", "Llama-3-70B-Instruct", "scripted:0"])
def test_another_model_is_c_even_one_of_a_like_name(llm: str) -> None:
    found = grade(replace(OURS, llm=llm), THEIRS)
    assert found.letter == "C"
    assert found.others == (f"model: {llm}, not Llama-3-8B",)


def test_gpt_4o_and_gpt_4o_mini_are_two_models() -> None:
    asked = replace(THEIRS, llm_name="GPT-4o", llm=GPT)
    assert grade(replace(OURS, llm="gpt-4o-2024-08-06:1"), asked).letter == "A"
    assert grade(replace(OURS, llm="gpt-4o-mini:1"), asked).letter == "C"
    mini = replace(THEIRS, llm_name="GPT-4o-mini", llm=MINI)
    assert grade(replace(OURS, llm="gpt-4o:1"), mini).letter == "C"


def test_a_set_that_no_card_holds_and_questions_made_for_the_paper_are_other_data() -> None:
    assert grade(OURS, replace(THEIRS, dataset=None, dataset_name="")).letter == "C"
    assert grade(OURS, replace(THEIRS, own_questions=True)).letter == "C"


def test_what_a_paper_does_not_say_keeps_it_from_a() -> None:
    unsaid = replace(THEIRS, n_questions=None, embedder_name="", embedder=None, sizes=())
    found = grade(OURS, unsaid)
    assert found.letter == "B"
    assert found.differences == (
        "corpus: the paper prints no size of it",
        "number of questions: the paper does not say",
        "embedder: the paper names none",
    )


def test_a_method_without_embeddings_does_not_differ_in_the_embedder() -> None:
    assert grade(replace(OURS, embedder=""), THEIRS).letter == "A"


def test_settings_of_steps_are_named_only_where_nothing_above_them_differs() -> None:
    ours = {"method.damping": 0.5, "method.retrieve.0.damping": 0.5, "method.title": "mine"}
    theirs = {"method.damping": 0.1, "method.retrieve.0.damping": 0.1, "method.title": "theirs"}
    assert different_settings(ours, theirs) == ["damping: 0.5, not 0.1"]
    deep = {"method.damping": 0.1, "method.retrieve.0.damping": 0.5}
    assert different_settings(deep, theirs) == ["retrieve.0.damping: 0.5, not 0.1"]
    assert different_settings({}, {"build.graph": "kg"}) == ["build.graph: –, not kg"]


def test_a_chunking_that_is_left_to_a_card_which_is_not_here_is_no_difference() -> None:
    assert different_settings({"chunking.variant": "presplit"}, {"chunking.variant": "auto"}) == []
    said = different_settings({"chunking.variant": "presplit"}, {"chunking.variant": "token"})
    assert said == ["chunking.variant: presplit, not token"]
