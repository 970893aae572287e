"""Normal forms of names, words and tokens of texts, and token budgets."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench import text as texts
from graphrag_bench.text import normalise_name, search_words, unsigned_name, words

LONG = "C++ and C#, vitamin C. It's J.R.R. Tolkien, 5 茅以升 हिन्दी Guten\u00adberg"
with_signs, in_pairs = partial(words, signs=True), partial(words, bigrams=True)


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        (normalise_name, "  AT&amp;T\t Straße", "at t strasse"),
        (normalise_name, "東京タワー हिन्दी Ⅳ. Henry", "東京タワー हिन्दी iv henry"),
        (normalise_name, "1,200 tokens _+ -.5", "1 200 tokens -.5"),
        (normalise_name, "Na⁺, AB\u2212 (C++)!", "na+ ab- c++"),
        (normalise_name, "**Berta Holm** - GPT-4, A+B", "berta holm gpt 4 a b"),
        (normalise_name, "pre- and post-war 1990-1995", "pre and post war 1990 1995"),
        (normalise_name, "Nor\u200bvik, word\u2060joiner", "norvik wordjoiner"),
        (words, "Well-known: the O'Neill_5, Müller’s", "well known the o neill 5 müller s"),
        (words, "नमस्ते दुनिया, क्षत्रिय।", "नमस्ते दुनिया क्षत्रिय"),
        (words, "٢٠١٤ می\u200cخواهم", "2014 میخواهم"),
        (words, "so\u00adft ze\u200bro \ufeffone ❤\ufe0f", "soft zero one"),
        (words, "東京タワー 2014年", "東 京 タ ワ ー 2014 年"),
        (words, "ที่นี่ မြန်မာ", "ที่ นี่ မြ န် မာ"),
        (words, "서울 타워", "서울 타워"),
        (with_signs, "C, C++ (C#), F#. .NET!", "c c++ c# f# .net"),
        (with_signs, "使用C#语言和C++17", "使 用 c# 语 言 和 c++ 17"),
        (with_signs, "Na+ and A+, g++", "na+ and a+ g++"),
        (with_signs, "a+b item#5 #5 end.Next ...and 5+", "a b item 5 5 end next and 5"),
        (in_pairs, "東京塔 is 塔, ที่นี่", "東京 京塔 is 塔 ที่นี่"),
        (search_words, LONG, "c++ and c# vitamin it tolkien 茅以 以升 हिन्दी gutenberg c"),
    ],
)
def test_names_and_words_of_all_scripts_have_a_normal_form(function, text, expected):
    result = function(text)
    assert (result.split() if isinstance(result, str) else result) == expected.split()
    assert not {"+", "#", "."} & set("".join(words(text)))


@given(st.text())
def test_normalising_twice_changes_nothing(name):
    once = normalise_name(name)
    assert normalise_name(once) == once


def test_special_tokens_are_plain_text_and_items_fit_from_the_front():
    encode, decode, text = texts.encode, texts.decode, "東京タワーは東京都港区にある <|endoftext|>"
    assert encode("hello world") == [15339, 1917]
    assert texts.count_tokens(text, "o200k") < texts.count_tokens(text, "cl100k")
    assert decode(encode(text, "o200k"), "o200k") == decode(encode(text)) == text
    assert decode(encode("a🙂")[:-1]) == "a"
    budgets = (([3, 3, 3], 9), ([3, 3, 3], 8), ([3, 9, 1], 5), ([0, 0], 0))
    assert [texts.n_fitting(*one) for one in budgets] == [3, 2, 1, 2]


def test_names_that_differ_in_signs_are_different():
    for names in ("C C++ C# C♯ C♭ C*", "5 -5 +5 <5 ≥5 5% $5 5€", "NO3 NO3-", "NET .NET"):
        normal = [normalise_name(name) for name in names.split()]
        assert len(set(normal)) == len(normal)
        assert {unsigned_name(name) for name in names.split()} == {normal[0]}
