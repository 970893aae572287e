import pytest

from graphrag_bench.evaluation import listed_answers
from graphrag_bench.evaluation.listed_answers import choice_scores, list_scores, read_option

WINS = "Which championships did the team win?"


def test_a_list_is_parsed_and_scored():
    lines = ("ans: 2014 World Series", "ans: None of them", "ans: 2012 World Series",
             "ans: 2012 World Series", "ans: Crazy Crab", "ans: not available",
             "ANS: 2010 World Series")  # fmt: skip
    gold = ("2010 World Series", "2012 World Series", "2014 World Series")
    answer = "\n".join(("We look for the team.", *lines))
    assert listed_answers.answer_lines(answer) == (lines[0], lines[2], lines[4])
    assert listed_answers.answer_lines("ans: Nonesuch Records") == ()
    assert [*list_scores(answer, gold, WINS).values()] == pytest.approx([1.0, 1.0, *[2 / 3] * 3])


def test_list_scores_by_hand():
    for answer, golds, hit_at_1, hit, precision, recall in (
        ("The Tarn.", ["Tarn"], 0, 0, 0, 0),
        ("ans: Ostra\nans: Norvik", ["Norvik"], 0, 1, 0.5, 1),
        # longest first, each line and gold once
        ("ans: New Norvik and Norvik\nans: Norvik", ["Norvik", "New Norvik"], 1, 1, 1, 1),
        ("ans: New Norvik and Norvik", ["Norvik", "New Norvik"], 1, 1, 1, 0.5),
        ("ans: Norvik", [" ", "Norvik"], 1, 1, 1, 1),
        # gold that normalises to nothing is compared raw
        ("ans: A", ["A"], 1, 1, 1, 1),
        ("ans: The The", ["the the"], 1, 1, 1, 1),
        ("ans: The", ["A"], 0, 0, 0, 0),
        ("ans: $", ["€"], 0, 0, 0, 0),
        ("ans: Norvik", ["The", "Norvik"], 1, 1, 1, 0.5),
    ):
        f1 = 2 * precision * recall / (precision + recall) if hit else 0.0
        values = [hit_at_1, hit, precision, recall, pytest.approx(f1)]
        assert [*list_scores(answer, golds, WINS).values()] == values, answer


def test_lines_match_gold_by_kind_of_question():
    """In some kinds of questions, the gold answer may contain the line."""
    lenient = ("When was it?", "What YEAR?", "which year", "Where?", "What sport?",
               "What countries?", "language of", "the NBA finals", "a World Series")  # fmt: skip
    for line, gold, question, found in (
        ("It must be ans: the Norvik F.C. (team)", "Norvik FC", WINS, True),
        ("ans: Norvik", "Norvik FC", WINS, False),
        *(("ans: Norvik", "Norvik FC", question, True) for question in lenient),
        ("ans: !", "Norvik FC", lenient[0], False),
        ("ans: 2014", "2014-05-01", "When did it open?", True),
        ("ans: in 2014", "2014-05-01", "What year was it?", True),
        ("ans: in 2014", "2014-05-01", "On which day was it?", False),
        ("ans: in 2014", "2014-05-01", "Which year was it?", False),
    ):
        assert list_scores(line, [gold], question)["list_f1"] == float(found), (line, question)


SEAS = ("A red boat", "The grey sea", "Nobody knows", "The grey sea at night")
CITIES = ("Paris", "Lyon", "Nice", "Metz")
ODD = ("Vitamin B", "Paris or London", "A and B", "C. difficile")


def test_an_option_is_read_by_letter_or_words():
    for options, answer, letter in (
        *((SEAS, answer, letter) for answer, letter in (
            ("B", "B"), (" (c). ", "C"), ("d", "D"), ("**B**", "B"), ("Option B", "B"),
            ("The answer is B, the sea.", "B"), ("Answer: (C)", "C"), ("ANSWER: D", "D"),
            ("The correct option is C because nobody does.", "C"), ("B. The grey sea", "B"),
            ("(B) The grey sea at night", "B"), ("A: A red boat", "A"),
            ("(A) is wrong. The answer is C.", "C"), ("I would choose (D).", "D"),
            ("He went out in a red boat, I think.", "A"), ("It was the grey sea, at night.", "D"),
            ("It was the grey sea.", "B"), ("I think it is C", "C"),
            ("I pick C because of the sea", "C"), ("", None), ("I do not know.", None),
            ("A boat", None), ("E", None), ("It is not B", None), ("Both", None))),
        (SEAS[:3], "The answer is D", None),
        # letters and conjunctions in the text of an option
        *((ODD, answer, letter) for answer, letter in (
            ("B) Paris or London", "B"), ("paris or london", "B"), ("C. A and B", "C"),
            ("A and B", "C"), ("The answer is C: A and B.", "C"), ("C. difficile", "D"),
            ("Vitamin B", "A"), ("Vitamin B or C. difficile", None))),
    ):  # fmt: skip
        assert read_option(answer, options) == ("ABCD".index(letter) if letter else None), answer


def test_a_hedge_chooses_no_option():
    for answer in (
     "A or B", "B or A", "Either A or D", "A, B", "A/B", "A\nB", "A B", "B, D", "A and C", "A & B",
     "B and/or C", "A; B", "A - B", "Answer: B or C", "Answer: B/C", "Options A and C",
     "Option A or option C", "(A) or (B)", "(A)(B)", "**A** or **B**", "[A], [C]", "a or b", "b, d",
     "(b) or (c)", "answer: either b or c", "It's either B or C", "A or maybe B", "B (or C)",
     "B or C, but not A", "Probably A, but maybe B.", "A as well as B", "A, B, C, D", "A. B.",
     "I pick A and D", "The answer is A or B.", "The answer is (B) or (C).", "Neither A nor B",
     "The answer is B. Or C.", "A oder B", "A 或 B", "A vs. B", "Paris or Lyon",
     "either paris or metz", "Paris/Lyon", "B or Paris", "b) lyon or c) nice",
     "PARIS & LYON", "Lyon, maybe Paris", "Lyon (or Paris)",
     "A. Paris or B. Lyon", "A) Paris\nB) Lyon", "It could be (B) Lyon or (C) Nice",
    ):  # fmt: skip
        scores = {"multiple_choice": 0.0, "option_unread": 1.0}
        assert choice_scores(answer, CITIES, 1) == scores, answer


def test_denied_options_are_ignored():
    for answer in (
     "B. because A is wrong", "B, because A and C are wrong", "The answer is (B).", "B, not A",
     "the answer is b", "b) lyon", "B - Lyon", "B or Lyon", "It is not Paris but Lyon", "B over C",
     "A is wrong, so B", "A and C are wrong, so B", "Neither A nor C, so B", "B rather than C",
     "I pick B instead of C", "B\nA and C are wrong.", "<b>B</b>",
     "A) Paris\nB) Lyon\nC) Nice\nThe answer is B", "Answer: B. The others (A, C, D) are wrong.",
    ):  # fmt: skip
        for correct in (0, 1):
            scores = {"multiple_choice": float(correct), "option_unread": 0.0}
            assert choice_scores(answer, CITIES, correct) == scores, answer
