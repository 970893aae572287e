"""Metrics by name: what each needs of the gold, sub-answers, abstention, and unknown names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation import metrics
from graphrag_bench.evaluation.answers import (
    Reading,
    abstained,
    answer_words,
    gold_words,
    str_scores,
)
from graphrag_bench.evaluation.metrics import ANSWER_METRICS, AnsweredQuestion, check_metrics
from graphrag_bench.evaluation.retrieval import Item, answer_within

PARTS = (("Ada Marsh", "A. Marsh"), ("Lund",), ("1914",))


def values(name: str, answer: str, gold: Gold) -> dict[str, float]:
    return ANSWER_METRICS[name].values(AnsweredQuestion("Which?", answer, gold, Reading()))


# ---- sub-answers


def test_of_three_sub_answers_two_are_found() -> None:
    """The golden example of the specification."""
    found = str_scores("A. Marsh left in 1914.", PARTS)
    assert found == {"strrec": pytest.approx(2 / 3), "strem": 0.0, "strhit": 1.0}


def test_all_and_none_of_the_sub_answers() -> None:
    assert set(str_scores("1914: Ada Marsh in Lund", PARTS).values()) == {1.0}
    assert set(str_scores("Kessel", PARTS).values()) == {0.0}
    assert set(str_scores("anything", ()).values()) == {0.0}


@settings(deadline=None)
@given(st.text(alphabet="abc "), st.lists(st.lists(st.text(alphabet="abc"), max_size=3)))
def test_strem_is_never_above_strrec_and_that_never_above_strhit(
    answer: str, parts: list[list[str]]
) -> None:
    found = str_scores(answer, parts)
    assert found["strem"] <= found["strrec"] <= found["strhit"]


# ---- what a metric needs


@pytest.mark.parametrize("name", ANSWER_METRICS)
def test_a_question_without_gold_has_no_value(name: str) -> None:
    assert values(name, "Norvik", Gold()) == {}


@pytest.mark.parametrize("name", ANSWER_METRICS)
def test_the_gold_answer_itself_scores_1(name: str) -> None:
    gold = Gold(("Ada Marsh left Lund",), options=("Kessel", "Ada Marsh left Lund"), correct=1,
                sub_answers=(("Lund",),))  # fmt: skip
    answer = "ans: Ada Marsh left Lund" if name == "kgqa" else "Ada Marsh left Lund"
    found = values(name, answer, gold)
    assert found.pop("option_unread", 0.0) == 0.0
    highest = 1 - 0.5 * (1 / 4) ** 3 if name == "meteor" else 1.0
    assert list(found.values()) == pytest.approx([highest] * len(found))


# ---- names


def test_a_name_that_is_no_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="evaluation.metrics: there is no metric 'rouge'.*rouge_"):
        check_metrics(["f1", "rouge"], "evaluation.metrics")


def test_a_metric_whose_package_is_missing_is_refused_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs the package nltk.*graphrag-bench\[metrics\]"):
        check_metrics(["meteor"], "a card")
    check_metrics(["meteor"], "a card", installed=False)
    check_metrics(["f1", "strrec", "multiple_choice"], "a card")


# ---- length and abstention


def test_words_of_an_answer_and_of_its_gold_are_counted() -> None:
    assert answer_words("It is the well-known Ada Marsh.") == 7.0
    assert answer_words("") == 0.0
    assert gold_words(["Marsh", "Ada Marsh"]) == 2.0
    assert gold_words(["Marsh", "Ada Marsh"], together=True) == 3.0


@pytest.mark.parametrize(
    "answer",
    [
        "", "Unknown.", "unknown", "N/A", "I don't know.", "I don’t know who that was.",
        "I do not know", "I'm sorry, but I cannot answer that.", "Insufficient information.",
        "There is not enough information to say.", "The context does not mention Ada Marsh.",
        "ans: not available", "Based on the passages given, I could not find the river.",
    ],
)  # fmt: skip
def test_an_answer_that_says_there_is_none_is_an_abstention(answer: str) -> None:
    assert abstained(answer) == 1.0


@pytest.mark.parametrize(
    "answer",
    ["Ada Marsh", "No", "None of them but Lund", "The Unknown Soldier", "ans: Lund",
     "He did not know her.", "Ada Marsh, whom " + "many " * 25 + "say I do not know."],
)  # fmt: skip
def test_an_answer_is_no_abstention_for_a_word_like_one(answer: str) -> None:
    assert abstained(answer) == 0.0


# ---- the answer in a context


def item(text: str | None) -> Item:
    return Item("chunk", "a", 10, text)


def test_the_share_of_wanted_answers_that_some_item_holds_in_whole_words() -> None:
    items = [item("Ada Marsh left."), item("It was 1914."), item(None)]
    assert answer_within(items, [("Ada Marsh", "Marsh")], Reading()) == 1.0
    assert answer_within(items, PARTS, Reading()) == pytest.approx(2 / 3)
    assert answer_within(items, [("arsh",)], Reading()) == 0.0
    assert answer_within([item("Ada"), item("Marsh")], [("Ada Marsh",)], Reading()) == 0.0


def test_yes_and_no_are_in_any_context_by_chance_and_are_not_looked_for() -> None:
    assert answer_within([item("no")], [("No", "the")], Reading()) is None
    assert answer_within([item("no")], [("no",), ("Lund",)], Reading()) == 0.0
