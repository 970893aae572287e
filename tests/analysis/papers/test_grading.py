"""Grades say what a figure may be compared with, and name everything that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphrag_bench.analysis.papers.grading import Ours, Theirs, different_settings, grade
from graphrag_bench.analysis.papers.names import Model

LLAMA = Model.model_validate({"is": "llama-?3-8b", "run": []})
MINI = Model.model_validate({"is": "gpt-4o-mini", "run": []})
GPT = Model.model_validate({"is": "gpt-4o(?!-mini)", "run": []})
BGE = Model.model_validate({"is": "bge-m3", "run": []})
SETTINGS: dict[str, object] = {"method.name": "hipporag", "method.damping": 0.1}
THEIRS = Theirs("popqa", "PopQA", 1172, "Llama-3-8B", LLAMA, "BGE-M3", BGE, SETTINGS)
OURS = Ours(
    "popqa", 1172, "Meta-Llama-3-8B-Instruct:ab12", "sentence-transformers:BAAI/bge-m3@1",
    SETTINGS, papers_prompts=True,
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
        ({"n_questions": 200}, "questions: 200, not 1,172"),
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
    found = grade(OURS, replace(THEIRS, n_questions=None, embedder_name="", embedder=None))
    assert found.letter == "B"
    assert found.differences == (
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
