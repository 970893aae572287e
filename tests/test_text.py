"""Normal forms of names, words and tokens of texts, and token budgets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.text import (
    count_tokens,
    decode,
    encode,
    n_fitting,
    normalise_name,
    search_words,
    unsigned_name,
    words,
)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("Ada Marsh", "ada marsh"),
        ("  Ada\t Marsh ", "ada marsh"),
        ("AT&amp;T", "at t"),
        ("Straße", "strasse"),
        ("東京タワー", "東京タワー"),
        ("Ⅳ. Henry", "iv henry"),
        ("हिन्दी", "हिन्दी"),
        ("1,200 tokens", "1 200 tokens"),
        ("--", ""),
        ("_+", ""),
        ("Na⁺, AB\u2212 (C++)!", "na+ ab- c++"),
        ("**Berta Holm** - GPT-4, A+B", "berta holm gpt 4 a b"),
        ("pre- and post-war 1990-1995", "pre and post war 1990 1995"),
        ("Guten\u00adberg of Nor\u200bvik, word\u2060joiner", "gutenberg of norvik wordjoiner"),
    ],
)
def test_normal_names_keep_letters_digits_and_signs_of_words(written, normal):
    assert normalise_name(written) == normal


@given(st.text())
def test_normalising_twice_changes_nothing(name):
    once = normalise_name(name)
    assert normalise_name(once) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well-known: the O'Neill_5, Müller’s", "well known the o neill 5 müller s"),
        ("नमस्ते दुनिया, क्षत्रिय।", "नमस्ते दुनिया क्षत्रिय"),
        ("٢٠١٤ می\u200cخواهم", "2014 میخواهم"),
        ("so\u00adft ze\u200bro \ufeffone ❤\ufe0f", "soft zero one"),
        ("東京タワー 2014年", "東 京 タ ワ ー 2014 年"),
        ("ที่นี่", "ที่ นี่"),
        ("မြန်မာ", "မြ န် မာ"),
        ("서울 타워", "서울 타워"),
    ],
)
def test_words_of_all_scripts_are_found(text, expected):
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C, C++ (C#), F#. .NET!", "c c++ c# f# .net"),
        ("使用C#语言和C++17", "使 用 c# 语 言 和 c++ 17"),
        ("Na+ and A+, g++", "na+ and a+ g++"),
        ("a+b item#5 #5 end.Next ...and 5+", "a b item 5 5 end next and 5"),
    ],
)
def test_signs_of_names_are_kept_on_request(text, expected):
    assert words(text, signs=True) == expected.split()
    assert not {"+", "#", "."} & set("".join(words(text)))


def test_special_tokens_are_encoded_as_plain_text():
    assert encode("hello world") == [15339, 1917]
    text = "東京タワーは東京都港区にある <|endoftext|>"
    assert count_tokens(text, "o200k") < count_tokens(text, "cl100k")
    assert decode(encode(text, "o200k"), "o200k") == decode(encode(text)) == text
    assert decode(encode("a🙂")[:-1]) == "a"


@pytest.mark.parametrize(
    ("n_tokens", "budget", "fitting"),
    [([3, 3, 3], 9, 3), ([3, 3, 3], 8, 2), ([3, 9, 1], 5, 1), ([0, 0], 0, 2)],
)
def test_items_fit_from_the_front(n_tokens, budget, fitting):
    assert n_fitting(n_tokens, budget) == fitting


@pytest.mark.parametrize(
    "names",
    [
        ["C", "C++", "C#", "C♯", "C♭", "C*"],
        ["5", "-5", "+5", "<5", "≥5", "5%", "$5", "5€"],
        ["NO3", "NO3-"],
        ["NET", ".NET"],
    ],
)
def test_names_that_differ_in_signs_are_different(names):
    normal = [normalise_name(name) for name in names]
    assert len(set(normal)) == len(names)
    assert [unsigned_name(name) for name in names] == [normal[0]] * len(names)


def test_search_terms_include_all_scripts_and_lone_capitals():
    text = "C++ and C#, vitamin C. It's J.R.R. Tolkien, 5 茅以升 हिन्दी Guten\u00adberg"
    expected = "c++ and c# vitamin it tolkien 茅以 以升 हिन्दी gutenberg c"
    assert search_words(text) == expected.split()
    assert words("東京塔 is 塔, ที่นี่", bigrams=True) == ["東京", "京塔", "is", "塔", "ที่นี่"]
