"""Lookup of names and aliases, and matching in texts."""

from graphrag_bench.algorithms import name_dictionary as names
from graphrag_bench.algorithms.name_dictionary import NameDictionary, key_of

NAMES = ["new york", "new york city", "the beatles", "tekezé river", "hello love", "mercury", "us"]


def test_a_bare_name_has_no_brackets_article_or_possessive_ending() -> None:
    for name, shown in (
        ("Hello Love (song)", "Hello Love"),
        ("the Kraus House", "Kraus House"),
        ("Hans Edler's", "Hans Edler"),
        ("(1985)", "(1985)"),
        ("Schindler's List", "Schindler's List"),
    ):
        assert names.bare_name(name) == shown


def test_keys_ignore_accents_case_and_possessive_s() -> None:
    for one, other, alike in (
        ("Tekez\u00e9 River", "tekeze river", True),
        ("\u0141\u00f3d\u017a", "Lodz", True),
        ("schindler s list", "Schindler's List", True),
        ("U.S.", "u", False),  # an s after a single letter stays, and so does a voicing mark
        ("\u304c", "\u304b", False),
    ):
        assert (key_of(one) == key_of(other)) == alike


def test_the_longest_name_at_a_word_is_matched() -> None:
    for text, single, found in (
        ("Who lives in New York City, and who in New York?", None, ["new york city", "new york"]),
        ("New York and Mercury", {"mercury"}, ["new york", "mercury"]),
        ("New York and Mercury", (), ["new york"]),
    ):
        matches = NameDictionary.of(NAMES).matches(text, single)
        assert [NAMES[row] for _, row in matches] == found


def test_names_with_and_without_an_article_are_the_same() -> None:
    stored = NameDictionary.of(["the norvik observatory", "norvik observatory", "the who", "who"])
    assert stored.matches("Who saw the Norvik Observatory?") == [("the norvik observatory", 1)]
    assert stored.matches("When did The Who play?") == [("the who", 2)]


def test_aliases_are_found_after_names_and_lead_to_their_row() -> None:
    stored = NameDictionary.of(["Marie Curie", "Tarn"], {"old tarn": 1, "tarn": 0, "Skłodowska": 0})
    assert (stored.row("Sklodowska"), stored.row("Tarn")) == (0, 1)
    assert stored.matches("Was old Tarn hers?") == [("old tarn", 1)]


def test_an_alias_needs_merges_that_agree_on_one_node() -> None:
    people, marie = ["marie curie", "pierre curie", "tarn"], ("curie", "marie curie")
    for pairs, aliases in (
        ([marie, marie], {"curie": 0}), ([marie, ("curie", "pierre curie")], {}),
        ([("curie", "eve curie")], {}), ([("tarn", "marie curie")], {}),
    ):  # fmt: skip
        merges = [names.Merge(*pair, "redirects", f"d{row}") for row, pair in enumerate(pairs)]
        assert names.unambiguous_aliases(merges, people) == aliases
