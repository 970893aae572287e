"""Sentence splitting and central sentences."""

import numpy as np

from graphrag_bench.graphs.sentences import Sentences, over_limit, split_sentences


def test_texts_are_split_after_sentences_and_at_blank_lines():
    for text, sentences in (
        ("One is. Two was!  Is three?", ["One is.", "Two was!", "Is three?"]),
        ("A line\nof verse\n\nA heading", ["A line of verse", "A heading"]),
        ("J. J. Thomson met Dr. Holt in St. Isk. He left.",
         ["J. J. Thomson met Dr. Holt in St. Isk.", "He left."]),
        ("一。二！", ["一。", "二！"]),
        ("It cost 3.5 marks.", ["It cost 3.5 marks."]),
        ("  ", []),
    ):  # fmt: skip
        assert split_sentences(text) == sentences


EAST, NORTH, BETWEEN = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


def test_central_sentences_fit_the_limit_without_near_duplicates():
    for vectors, n_tokens, rows, budget, central in (
        # the mean (0.533, 0.6) has the cosines 0.533, 0.6 and 0.8
        ([EAST, NORTH, BETWEEN], 5, [0, 1, 2], 5, [2]),
        ([EAST, NORTH, BETWEEN], 5, [2, 0, 1], 10, [2, 1]),
        ([EAST, NORTH, BETWEEN], 5, [2, 0, 1], 15, [2, 0, 1]),
        ([BETWEEN, BETWEEN, EAST], 5, [0, 1, 2], 10, [0, 2]),  # the second says the same
        ([EAST, NORTH], 50, [0, 1], 10, [0]),
        ([EAST], 5, [], 10, []),
    ):
        texts = tuple(f"the sentence of number {row}" for row in range(len(vectors)))
        known = Sentences(texts, np.array(vectors, np.float32), (n_tokens,) * len(vectors))
        chosen = known.central([texts[row] for row in rows], budget)
        assert chosen == [texts[row] for row in central]


def test_only_groups_above_their_limit_are_returned():
    """Each sentence has two tokens, a word and a stop."""
    groups = [(["One.", "Two."], 4), (["One.", "Three."], 3)]
    assert over_limit(groups) == {"One.", "Three."}
