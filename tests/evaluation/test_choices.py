"""Which option a text chooses, by hand."""

from __future__ import annotations

import pytest

from graphrag_bench.evaluation.listed_answers import choice_scores, chosen_option

OPTIONS = ("A red boat", "The grey sea", "Nobody knows", "The grey sea at night")


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        (" (c). ", "C"),
        ("d", "D"),
        ("**B**", "B"),
        ("Option B", "B"),
        ("The answer is B, the sea.", "B"),
        ("Answer: (C)", "C"),
        ("ANSWER: D", "D"),
        ("The correct option is C because nobody does.", "C"),
        ("B. The grey sea", "B"),
        ("(B) The grey sea at night", "B"),
        ("A: A red boat", "A"),
        ("(A) is wrong. The answer is C.", "C"),
        ("I would choose (D).", "D"),
        ("He went out in a red boat, I think.", "A"),
        ("It was the grey sea, at night.", "D"),
        ("It was the grey sea.", "B"),
        ("I think it is C", "C"),
        ("I pick C because of the sea", "C"),
    ],
)
def test_an_option_is_read_by_its_letter_or_by_its_words(answer: str, letter: str) -> None:
    assert chosen_option(answer, OPTIONS) == "ABCD".index(letter)


@pytest.mark.parametrize(
    "answer",
    ["", "I do not know.", "A boat", "E", "B and C", "A red boat, and nobody knows", "(B) or (C)"],
)
def test_no_option_or_several_are_none(answer: str) -> None:
    assert chosen_option(answer, OPTIONS) is None


def test_a_letter_that_no_option_has_is_none() -> None:
    assert chosen_option("The answer is D", OPTIONS[:3]) is None
    assert chosen_option("The answer is C", OPTIONS[:3]) == 2


def test_the_right_option_is_1_another_0_and_none_is_wrong_and_counted() -> None:
    assert choice_scores("B", OPTIONS, 1) == {"multiple_choice": 1.0, "option_unread": 0.0}
    assert choice_scores("C", OPTIONS, 1) == {"multiple_choice": 0.0, "option_unread": 0.0}
    assert choice_scores("Both", OPTIONS, 1) == {"multiple_choice": 0.0, "option_unread": 1.0}
