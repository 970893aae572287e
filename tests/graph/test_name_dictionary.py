"""Names looked up whatever their accents, endings and articles, and found in texts."""

import pytest

from graphrag_bench.graph.name_dictionary import NameDictionary, bare, key_of

NAMES = ["new york", "new york city", "the beatles", "tekezé river", "hello love", "mercury", "us"]
HELD = NameDictionary.of(NAMES)


def found(text: str, single=None) -> list[str]:
    return [NAMES[row] for _, row in HELD.matches(text, single)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Hello Love (song)", "Hello Love"),
        ("Mercury [planet]", "Mercury"),
        ("the Kraus House", "Kraus House"),
        ("Hans Edler's", "Hans Edler"),
        ("the Hornets\u2019", "Hornets"),
        ("(1985)", "(1985)"),
        ("The", "The"),
        ("Schindler's List", "Schindler's List"),
    ],
)
def test_a_bare_name_has_no_brackets_article_or_possessive_ending(name: str, shown: str) -> None:
    assert bare(name) == shown


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tekez\u00e9 River", "tekeze river"),
        ("\u0141\u00f3d\u017a", "Lodz"),
        ("Hello Love's", "hello love"),
        ("schindler s list", "Schindler's List"),
    ],
)
def test_accents_case_and_a_possessive_s_change_no_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


def test_an_s_after_a_single_letter_and_a_voicing_mark_stay() -> None:
    assert key_of("U.S.") == "u s"
    assert key_of("\u304c") != key_of("\u304b")


def test_the_longest_name_that_begins_at_a_word_is_found() -> None:
    assert found("Who lives in New York City, and who in New York?") == [
        "new york city",
        "new york",
    ]


def test_names_are_whole_words_in_any_case_with_or_without_accents() -> None:
    assert found("the TEKEZE RIVER and newyork") == ["tekezé river"]
    assert found("Hello Love's performer") == ["hello love"]


def test_a_name_with_an_article_is_found_without_it() -> None:
    assert found("Beatles songs") == found("songs of The Beatles") == ["the beatles"]


def test_a_name_with_an_article_and_one_without_are_the_same() -> None:
    held = NameDictionary.of(["the norvik observatory", "norvik observatory", "the who", "who"])
    assert held.matches("Who saw the Norvik Observatory?") == [("the norvik observatory", 1)]
    assert held.matches("When did The Who play?") == [("the who", 2)]


def test_a_name_of_one_word_is_found_in_a_text_only_where_it_is_allowed() -> None:
    assert found("New York and Mercury", single={"mercury"}) == ["new york", "mercury"]
    assert found("New York and Mercury", single=()) == ["new york"]


def test_names_of_two_letters_are_looked_up_and_not_searched_for() -> None:
    assert found("tell us") == []
    assert HELD.row("US") == NAMES.index("us")
    assert HELD.row("a Mercury") == NAMES.index("mercury")
    assert HELD.row("Venus") is None


def test_of_names_with_one_key_the_first_row_counts() -> None:
    assert NameDictionary.of(["lodz", "\u0142\u00f3d\u017a"]).row("\u0141\u00f3d\u017a") == 0


def test_an_empty_text_and_an_empty_dictionary_find_nothing() -> None:
    assert HELD.matches("") == NameDictionary.of([]).matches("New York") == []
