"""Listed answers, and which option a text chooses, by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.evaluation.listed_answers import (
    LISTED,
    choice_scores,
    chosen_option,
    list_scores,
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
    assert predictions("ans: Nonesuch Records") == ()
    shares = scores(answer, *GOLD)
    two_of_three = dict.fromkeys(("list_precision", "list_recall", "list_f1"), pytest.approx(2 / 3))
    assert shares == {"hit@1": 1.0, "hit": 1.0, **two_of_three}


def test_no_line_scores_nothing_hit_at_1_looks_at_the_first_and_hit_at_all() -> None:
    assert scores("The Tarn.", "Tarn") == scores("", "Tarn") == dict.fromkeys(LISTED, 0.0)
    shares = scores("ans: Ostra\nans: Norvik", "Norvik")
    assert shares == {"hit@1": 0.0, "hit": 1.0, "list_precision": 0.5, "list_recall": 1.0,
                     "list_f1": pytest.approx(2 / 3)}  # fmt: skip


def test_a_gold_answer_is_found_inside_a_line_without_signs_and_articles() -> None:
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


def test_a_line_and_a_gold_are_used_once_the_longest_first() -> None:
    both = "ans: New Norvik and Norvik\nans: Norvik"
    assert scores(both, "Norvik", "New Norvik")["list_f1"] == 1.0
    assert scores("ans: New Norvik and Norvik", "Norvik", "New Norvik")["list_recall"] == 0.5
    assert scores("ans: Norvik", " ", "Norvik")["list_recall"] == 1.0


def test_a_gold_that_normalises_to_nothing_is_compared_raw() -> None:
    assert scores("ans: A", "A") == scores("ans: The The", "the the") == dict.fromkeys(LISTED, 1.0)
    assert scores("ans: The", "A") == scores("ans: $", "€") == dict.fromkeys(LISTED, 0.0)
    assert scores("ans: Norvik", "The", "Norvik")["list_recall"] == 0.5


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


@pytest.mark.parametrize("answer", ["", "I do not know.", "A boat", "E", "It is not B", "Both"])
def test_an_answer_that_names_no_option_chooses_none(answer: str) -> None:
    assert chosen_option(answer, OPTIONS) is None
    assert chosen_option("The answer is D", OPTIONS[:3]) is None


CITIES = ("Paris", "Lyon", "Nice", "Metz")


@pytest.mark.parametrize(
    "answer",
    ["A or B", "B or A", "Either A or D", "A, B", "A/B", "A\nB", "A B", "B, D", "A and C", "A & B",
     "B and/or C", "A; B", "A - B", "Answer: B or C", "Answer: B/C", "Options A and C",
     "Option A or option C", "(A) or (B)", "(A)(B)", "**A** or **B**", "[A], [C]", "a or b", "b, d",
     "(b) or (c)", "answer: either b or c", "It's either B or C", "A or maybe B", "B (or C)",
     "B or C, but not A", "Probably A, but maybe B.", "A as well as B", "A, B, C, D", "A. B.",
     "I pick A and D", "The answer is A or B.", "The answer is (B) or (C).", "Neither A nor B",
     "The answer is B. Or C.", "A oder B", "A 或 B", "A vs. B", "Paris or Lyon",
     "either paris or metz", "Paris/Lyon", "B or Paris", "b) lyon or c) nice",
     "PARIS & LYON", "Lyon, maybe Paris", "Lyon (or Paris)",
     "A. Paris or B. Lyon", "A) Paris\nB) Lyon", "It could be (B) Lyon or (C) Nice"],
)  # fmt: skip
def test_a_hedge_between_options_chooses_none(answer: str) -> None:
    assert choice_scores(answer, CITIES, 1) == {"multiple_choice": 0.0, "option_unread": 1.0}


@pytest.mark.parametrize(
    "answer",
    ["B. because A is wrong", "B, because A and C are wrong", "The answer is (B).", "B, not A",
     "the answer is b", "b) lyon", "B - Lyon", "B or Lyon", "It is not Paris but Lyon", "B over C",
     "A is wrong, so B", "A and C are wrong, so B", "Neither A nor C, so B", "B rather than C",
     "I pick B instead of C", "B\nA and C are wrong.", "<b>B</b>",
     "A) Paris\nB) Lyon\nC) Nice\nThe answer is B", "Answer: B. The others (A, C, D) are wrong."],
)  # fmt: skip
def test_an_option_beside_others_that_are_denied_is_read(answer: str) -> None:
    assert choice_scores(answer, CITIES, 1) == {"multiple_choice": 1.0, "option_unread": 0.0}
    assert choice_scores(answer, CITIES, 0) == {"multiple_choice": 0.0, "option_unread": 0.0}


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("B) Paris or London", "B"), ("paris or london", "B"), ("C. A and B", "C"), ("A and B", "C"),
     ("The answer is C: A and B.", "C"), ("C. difficile", "D"), ("Vitamin B", "A")],
)  # fmt: skip
def test_letters_and_joins_in_the_text_of_an_option_are_no_hedge(answer: str, letter: str) -> None:
    options = ("Vitamin B", "Paris or London", "A and B", "C. difficile")
    assert chosen_option(answer, options) == "ABCD".index(letter)
    assert chosen_option("Vitamin B or C. difficile", options) is None


def words_of(text: str) -> str:
    return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])


@given(st.lists(st.text(min_size=1), min_size=2, max_size=9), st.data())
def test_the_letter_of_an_option_is_read_and_two_letters_are_not(
    options: list[str], data: st.DataObject
) -> None:
    """Unless the answer has the words of an option too, as "is B" is of the option "IS:B"."""
    first, second, *_ = data.draw(st.permutations("ABCDEFGHI"[: len(options)]))
    one = (first, first.lower(), f"({first})", f"{first}.", f"The answer is {first}.")
    two = (f"{first} or {second}", f"{first}/{second}".lower(), f"({first}), ({second})")
    for answer in (*one, *two):
        texts = [words_of(option) for option in options]
        if not any(len(text) > 3 and text in words_of(answer) for text in texts):
            wanted = ord(first) - ord("A") if answer in one else None
            assert chosen_option(answer, options) == wanted
