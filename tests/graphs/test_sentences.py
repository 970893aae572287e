"""Sentence splitting and central sentences."""

from builds import QUIET
from by_hand import Planted

from graphrag_bench.graphs.sentences import central_sentences, split_sentences


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
    """Each sentence has six tokens. Only sentences of groups above their limit are embedded."""
    for vectors, rows, budget, central in (
        # the mean (0.533, 0.6) has the cosines 0.533, 0.6 and 0.8
        ([EAST, NORTH, BETWEEN], [0, 1, 2], 6, [2]),
        ([EAST, NORTH, BETWEEN], [2, 0, 1], 12, [2, 1]),
        ([], [2, 0, 1], 18, [2, 0, 1]),
        ([BETWEEN, BETWEEN, EAST], [0, 1, 2], 12, [0, 2]),  # the second says the same
        ([EAST, NORTH], [0, 1], 2, [0]),
        ([], [], 10, []),
    ):
        embedder = Planted(lambda text, vectors=vectors: vectors[int(text[-1])])
        groups = [([f"the sentence of number {row}" for row in rows], budget)]
        (chosen,) = central_sentences(groups, embedder, QUIET)
        assert chosen == [f"the sentence of number {row}" for row in central]
