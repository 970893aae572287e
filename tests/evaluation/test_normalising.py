"""One normaliser: ASCII as the papers have it, and what else counts as the same answer."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.evaluation.answers import Normaliser, Reading, accuracy, exact_match, f1, words

UNICODE, SQUAD, PLAIN = Normaliser(), Normaliser("squad"), Normaliser(accents="strip")


def of_squad(text: str) -> str:
    """The normalisation that SQuAD publishes, step by step."""
    unmarked = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", unmarked).split())


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=string.printable))
def test_ascii_text_is_the_same_in_both_forms_and_as_squad_has_it(text: str) -> None:
    assert UNICODE(text) == SQUAD(text) == PLAIN(text) == of_squad(text)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_the_squad_form_is_that_of_squad_for_any_text(text: str) -> None:
    assert SQUAD(text) == of_squad(text)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_no_text_is_refused_and_words_stand_one_space_apart(text: str) -> None:
    for normaliser in (UNICODE, PLAIN):
        found = normaliser(text)
        assert found == " ".join(found.split())
        assert "".join(normaliser.tokens(text)) == found.replace(" ", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ｌｕｎｄ　１９１４", "Lund 1914"),  # full width
        ("O\u2019Brien", "O'Brien"),
        ("1914\u20131918", "1914-1918"),
        ("«Lund»", "Lund"),
        ("Mu\u0308ller", "Müller"),  # a combining mark
        ("STRASSE", "straße"),
        ("٢٠١٤", "2014"),
        ("soft\u00adly", "softly"),
        ("नमस्ते।", "नमस्ते"),
        ("東京、日本", "東京日本"),
        ("ﬁeld", "field"),
    ],
)
def test_what_looks_the_same_is_the_same(one: str, other: str) -> None:
    assert UNICODE(one) == UNICODE(other)
    assert exact_match(one, [other]) == 1.0
    assert SQUAD(one) != SQUAD(other)


def test_accents_are_letters_unless_they_are_taken_off() -> None:
    assert UNICODE("Schrödinger") != UNICODE("Schrodinger")
    assert PLAIN("Schrödinger, Ångström") == "schrodinger angstrom"
    assert PLAIN("がぎ नी й") == UNICODE("がぎ नी й")


def test_marks_of_other_scripts_stay_with_their_letters() -> None:
    assert UNICODE("नमस्ते") == "नमस्ते"
    assert words("ที่") == ["ที่"]


def test_a_script_without_spaces_is_compared_character_by_character() -> None:
    assert UNICODE.tokens("日本の首都は Tokyo2 です") == [*"日本の首都は", "tokyo2", "で", "す"]
    assert f1("東京都", ["東京"]) == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    assert SQUAD.tokens("東京 都") == ["東京", "都"]
    whole = Reading(containment="token_boundary")
    assert accuracy("首都は東京です", ["東京"], reading=whole) == 1.0


def test_words_are_runs_of_letters_and_digits_of_any_script() -> None:
    assert words("Well-known: the O'Neill_5, Müller’s") == [
        "well", "known", "the", "o", "neill", "5", "müller", "s",
    ]  # fmt: skip
    assert words("गंगा नदी।") == ["गंगा", "नदी"]


def test_how_to_normalise_reaches_the_metrics() -> None:
    assert exact_match("Schrodinger", ["Schrödinger"]) == 0.0
    assert exact_match("Schrodinger", ["Schrödinger"], Reading(PLAIN)) == 1.0
    assert accuracy("«Lund»", ["„Lund“"]) == 1.0
    assert accuracy("«Lund»", ["„Lund“"], reading=Reading(SQUAD)) == 0.0
