"""The order of texts against Python's `sorted`."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.columns import Texts
from graphrag_bench.offline.text_order import text_places

ALIKE = st.text(alphabet="ab\0é一", max_size=20)


def test_the_place_of_a_text_is_the_number_of_those_before_it():
    texts = ["norvik", "ada marsh", "norvik b", "ada", "norvik", ""]
    assert text_places(Texts.of(texts)).tolist() == [3, 2, 5, 1, 3, 0]


def test_texts_that_differ_behind_many_equal_bytes_are_told_apart():
    texts = ["x" * 40 + "b", "x" * 40, "x" * 40 + "a"]
    assert text_places(Texts.of(texts)).tolist() == [2, 0, 1]


@given(st.lists(st.one_of(ALIKE, st.text(max_size=12)), max_size=30))
def test_it_is_the_order_of_sorted(texts):
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    ordered = sorted(texts)
    assert text_places(Texts.of(texts)).tolist() == [ordered.index(text) for text in texts]


def test_rows_ordered_by_their_places_are_sorted():
    chance = np.random.default_rng(0)
    texts = [f"person {n % 97} of norvik{n}" for n in chance.integers(5000, size=2000)]
    order = np.argsort(text_places(Texts.of(texts)), kind="stable")
    assert [texts[row] for row in order] == sorted(texts)
