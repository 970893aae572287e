"""Answer metrics, by hand."""

import pytest

from graphrag_bench.evaluation.answers import (
    DEFAULT,
    Reading,
    accuracy,
    exact_match,
    f1,
    overlap,
    recall,
    recall_concat,
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Grey  Sea.", "grey sea"),
        ("well-known", "wellknown"),
        ("an answer\nand a line", "answer and line"),
        ("Lund|Kessel", "lund kessel"),
        ("A", ""),
        ("Théâtre", "théâtre"),
        ("東京、日本", "東京日本"),
    ],
)
def test_punctuation_goes_articles_go_and_spaces_are_single(text, normal):
    assert DEFAULT.normal(text) == normal


def test_accuracy_finds_the_gold_answer_anywhere():
    assert accuracy("It flows into the Grey Sea, I think.", ["grey sea"]) == 1.0
    assert accuracy("It flows into the sea.", ["Grey Sea"]) == 0.0


def test_accuracy_takes_any_alias():
    assert accuracy("Marsh", ["Ada Marsh", "Marsh"]) == 1.0


def test_accuracy_by_characters_finds_no_in_know_and_by_words_does_not():
    assert accuracy("I know", ["no"]) == 1.0
    assert accuracy("I know", ["no"], Reading(containment="token_boundary")) == 0.0
    assert accuracy("Oh, no!", ["no"], Reading(containment="token_boundary")) == 1.0


@pytest.mark.parametrize("metric", [accuracy, recall, exact_match, f1])
def test_without_a_gold_answer_nothing_is_right(metric):
    assert metric("anything", []) == 0.0


def test_a_gold_answer_that_normalises_to_nothing_is_contained_in_nothing():
    assert accuracy("anything", ["the", "?"]) == 0.0


def test_an_exact_match_is_equality_once_normalised():
    assert exact_match("The Grey Sea!", ["grey sea"]) == 1.0
    assert exact_match("Grey Sea coast", ["Grey Sea"]) == 0.0


def test_tokens_overlap_as_multisets():
    """Given: new, york, new; wanted: new, new, city. Two are shared of three and three."""
    assert overlap("New York, new", "new new city") == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_recall_is_the_share_of_the_gold_tokens():
    assert recall("It was Ada Marsh", ["Ada Marsh"]) == 1.0
    assert recall("Ada", ["Ada Marsh"]) == 0.5


def test_f1_weighs_precision_too():
    assert f1("It was Ada Marsh", ["Ada Marsh"]) == pytest.approx(2 * 0.5 * 1 / 1.5)


def test_of_several_gold_answers_the_best_counts():
    golds = ["Lund", "Ada Marsh"]
    assert recall("Ada", golds) == 0.5
    assert f1("Ada Marsh", golds) == 1.0


@pytest.mark.parametrize("special", ["yes", "no", "noanswer"])
def test_yes_and_no_are_all_or_nothing(special):
    assert overlap(special, special) == (1.0, 1.0, 1.0)
    assert overlap(f"{special} indeed", special) == (0.0, 0.0, 0.0)
    assert overlap(special, f"{special} indeed") == (0.0, 0.0, 0.0)


def test_an_empty_answer_has_nothing_in_common():
    assert overlap("", "Ada") == (0.0, 0.0, 0.0)


def test_the_recall_of_all_aliases_together_is_low_for_an_answer_that_names_one():
    """Given: it, was, marsh; wanted: ada, marsh, marsh, am. One is shared of four."""
    assert recall_concat("It was Marsh", ["Ada Marsh", "Marsh", "A.M."]) == 0.25
    assert recall_concat("anything", []) == 0.0
