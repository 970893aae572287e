"""Listed answers, and which option a text chooses, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.evaluation.listed_answers import (
    LISTED,
    choice_scores,
    chosen_option,
    list_scores,
    listed,
    normalise_listed,
    predictions,
)

LINES = (
    "ans: 2014 World Series", "ans: None of them", "ans: 2012 World Series",
    "ans: 2012 World Series", "ans: Crazy Crab", "ans: not available", "ANS: 2010 World Series",
)  # fmt: skip
GOLD = ("2010 World Series", "2012 World Series", "2014 World Series")
WINS = "Which championships did the team win?"


def scores(answer: str, *golds: str, question: str = WINS) -> dict[str, float]:
    return list_scores(answer, golds, question)


def test_the_golden_example_is_parsed_and_scored() -> None:
    """Golden G9."""
    answer = "\n".join(("We look for the team.", *LINES))
    assert predictions(answer) == (LINES[0], LINES[2], LINES[4])
    shares = scores(answer, *GOLD)
    two_of_three = dict.fromkeys(("list_precision", "list_recall", "list_f1"), pytest.approx(2 / 3))
    assert shares == {"hit@1": 1.0, "hit": 1.0, **two_of_three}


def test_none_within_a_word_scores_nothing_and_is_listed() -> None:
    """Golden G9, the second part."""
    assert predictions("ans: Nonesuch Records") == ()
    assert listed("ans: Nonesuch Records") == ("Nonesuch Records",)
    assert listed("ans: None.") == listed("ans: No information available here") == ()


def test_no_line_scores_nothing_hit_at_1_looks_at_the_first_and_hit_at_all() -> None:
    assert scores("The Tarn.", "Tarn") == scores("", "Tarn") == dict.fromkeys(LISTED, 0.0)
    shares = scores("ans: Ostra\nans: Norvik", "Norvik")
    assert shares == {"hit@1": 0.0, "hit": 1.0, "list_precision": 0.5, "list_recall": 1.0,
                     "list_f1": pytest.approx(2 / 3)}  # fmt: skip


def test_a_gold_answer_is_found_inside_a_line_without_signs_and_articles() -> None:
    assert normalise_listed("The  U.S.A., an idea") == "usa idea"
    assert scores("It must be ans: the Norvik F.C. (team)", "Norvik FC")["list_f1"] == 1.0
    assert scores("ans: Norvik", "Norvik FC")["list_f1"] == 0.0


@pytest.mark.parametrize(
    "question",
    ["When was it?", "What YEAR?", "which year", "Where?", "What sport?", "What countries?",
     "the language of", "the NBA finals", "a World Series"],
)  # fmt: skip
def test_for_some_questions_the_line_may_stand_inside_the_gold(question: str) -> None:
    assert scores("ans: Norvik", "Norvik FC", question=question)["list_f1"] == 1.0
    assert scores("ans: !", "Norvik FC", question=question)["list_f1"] == 0.0


def test_of_a_date_only_the_year_counts_when_a_time_is_asked_for() -> None:
    assert scores("ans: 2014", "2014-05-01", question="When did it open?")["list_f1"] == 1.0
    assert scores("ans: in 2014", "2014-05-01", question="What year was it?")["list_f1"] == 1.0
    assert scores("ans: in 2014", "2014-05-01", question="On which day was it?")["list_f1"] == 0.0
    assert scores("ans: in 2014", "2014-05-01", question="Which year was it?")["list_f1"] == 0.0


def test_a_line_and_a_gold_are_used_once_the_longest_first_and_empty_golds_not_at_all() -> None:
    both = "ans: New Norvik and Norvik\nans: Norvik"
    assert scores(both, "Norvik", "New Norvik")["list_f1"] == 1.0
    assert scores("ans: New Norvik and Norvik", "Norvik", "New Norvik")["list_recall"] == 0.5
    assert scores("ans: Norvik", "The", "Norvik")["list_recall"] == 1.0
    assert scores("ans: Norvik", "The")["hit"] == 0.0


def test_the_answers_of_a_reply_are_what_stands_behind_the_mark() -> None:
    assert listed("So it is:\nans: Norvik\n ans: Ostra \nans: none\nans:\nans: Norvik") == (
        "Norvik",
        "Ostra",
    )


words = st.text(alphabet="abc :\n", max_size=12)
golds = st.lists(st.sampled_from(["a", "b c", "cab", "the", "2014-05-01"]), max_size=4)


@given(st.lists(words.map(lambda word: f"ans: {word}"), max_size=5), golds, st.booleans())
def test_scores_are_shares_and_hit_is_never_below_hit_at_1(
    lines: list[str], wanted: list[str], timed: bool
) -> None:
    shares = list_scores("\n".join(lines), wanted, "when?" if timed else "who?")
    assert all(0.0 <= value <= 1.0 for value in shares.values())
    assert shares["hit"] >= shares["hit@1"]
    assert (shares["list_f1"] > 0) == (shares["hit"] > 0)


# ---- options

OPTIONS = ("A red boat", "The grey sea", "Nobody knows", "The grey sea at night")


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"), (" (c). ", "C"), ("d", "D"), ("**B**", "B"), ("Option B", "B"),
        ("The answer is B, the sea.", "B"), ("Answer: (C)", "C"), ("ANSWER: D", "D"),
        ("The correct option is C because nobody does.", "C"), ("B. The grey sea", "B"),
        ("(B) The grey sea at night", "B"), ("A: A red boat", "A"),
        ("(A) is wrong. The answer is C.", "C"), ("I would choose (D).", "D"),
        ("He went out in a red boat, I think.", "A"), ("It was the grey sea, at night.", "D"),
        ("It was the grey sea.", "B"), ("I think it is C", "C"),
        ("I pick C because of the sea", "C"),
    ],
)  # fmt: skip
def test_an_option_is_read_by_its_letter_or_by_its_words(answer: str, letter: str) -> None:
    assert chosen_option(answer, OPTIONS) == "ABCD".index(letter)


@pytest.mark.parametrize(
    "answer",
    ["", "I do not know.", "A boat", "E", "B and C", "A red boat, and nobody knows", "(B) or (C)"],
)
def test_no_option_or_several_are_none(answer: str) -> None:
    assert chosen_option(answer, OPTIONS) is None
    assert chosen_option("The answer is D", OPTIONS[:3]) is None


def test_the_right_option_is_1_another_0_and_none_is_wrong_and_counted() -> None:
    assert choice_scores("B", OPTIONS, 1) == {"multiple_choice": 1.0, "option_unread": 0.0}
    assert choice_scores("C", OPTIONS, 1) == {"multiple_choice": 0.0, "option_unread": 0.0}
    assert choice_scores("Both", OPTIONS, 1) == {"multiple_choice": 0.0, "option_unread": 1.0}
