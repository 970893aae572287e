"""Where texts are cut into sentences, and which of them are central."""

import numpy as np
import pytest

from graphrag_bench.graphs.sentences import Sentences, crowded, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is. Two was!  Is three?", ["One is.", "Two was!", "Is three?"]),
        ("A line\nof verse\n\nA heading", ["A line of verse", "A heading"]),
        ("J. J. Thomson met Dr. Holt in St. Isk. He left.",
         ["J. J. Thomson met Dr. Holt in St. Isk.", "He left."]),
        ("一。二！", ["一。", "二！"]),
        ("It cost 3.5 marks.", ["It cost 3.5 marks."]),
        ("  ", []),
    ],
)  # fmt: skip
def test_a_text_is_cut_after_its_sentences_and_at_blank_lines(text, sentences):
    assert split_sentences(text) == sentences


def known(vectors, n_tokens=(5, 5, 5, 5)) -> Sentences:
    texts = tuple(f"the sentence of number {row}" for row in range(len(vectors)))
    return Sentences(texts, np.array(vectors, np.float32), tuple(n_tokens)[: len(vectors)])


EAST, NORTH, BETWEEN = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


def test_the_sentence_nearest_to_all_is_the_central_one():
    """Mean (0.533, 0.6): 0.533, 0.6 and 0.8 by its cosines."""
    assert known([EAST, NORTH, BETWEEN]).central([0, 1, 2], 5) == [2]


def test_chosen_sentences_stand_in_the_order_given_and_fit():
    assert known([EAST, NORTH, BETWEEN]).central([2, 0, 1], 10) == [2, 1]
    assert known([EAST, NORTH, BETWEEN]).central([2, 0, 1], 15) == [2, 0, 1]


def test_a_sentence_that_says_the_same_as_a_chosen_one_is_passed_over():
    assert known([BETWEEN, BETWEEN, EAST]).central([0, 1, 2], 10) == [0, 2]


def test_one_sentence_comes_out_however_long_and_none_of_none():
    assert known([EAST, NORTH], (50, 60)).central([0, 1], 10) == [0]
    assert known([EAST]).central([], 10) == []


def test_groups_that_fit_leave_no_choice():
    """Each is one word and a stop, two tokens."""
    groups = [(["One.", "Two."], 4), (["One.", "Three."], 3)]
    assert crowded(groups) == {"One.", "Three."}
