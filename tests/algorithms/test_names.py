"""Names looked up, found in texts, and merged with aliases."""

import pytest

from graphrag_bench.algorithms.name_dictionary import (
    FILE,
    Merge,
    NameDictionary,
    bare,
    key_of,
    load_merges,
    save_merges,
    unambiguous,
)

# ---- Names looked up whatever their accents, endings and articles, and found in texts

NAMES = ["new york", "new york city", "the beatles", "tekezé river", "hello love", "mercury", "us"]
DICTIONARY = NameDictionary.of(NAMES)


def matched(text: str, single=None) -> list[str]:
    return [NAMES[row] for _, row in DICTIONARY.matches(text, single)]


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


def test_the_longest_name_that_begins_at_a_word_is_matched() -> None:
    assert matched("Who lives in New York City, and who in New York?") == [
        "new york city",
        "new york",
    ]


def test_a_name_with_an_article_and_one_without_are_the_same() -> None:
    stored = NameDictionary.of(["the norvik observatory", "norvik observatory", "the who", "who"])
    assert stored.matches("Who saw the Norvik Observatory?") == [("the norvik observatory", 1)]
    assert stored.matches("When did The Who play?") == [("the who", 2)]


def test_a_name_of_one_word_is_found_in_a_text_only_where_it_is_allowed() -> None:
    assert matched("New York and Mercury", single={"mercury"}) == ["new york", "mercury"]
    assert matched("New York and Mercury", single=()) == ["new york"]


def test_aliases_are_found_after_names_and_lead_to_their_row() -> None:
    stored = NameDictionary.of(["Marie Curie", "Tarn"], {"old tarn": 1, "tarn": 0, "Skłodowska": 0})
    assert stored.row("Sklodowska") == 0
    assert stored.row("Tarn") == 1
    assert stored.matches("Was old Tarn hers?") == [("old tarn", 1)]


# ---- Merges of names: which alias leads to which node, and what is kept on disk

PEOPLE = ["marie curie", "pierre curie", "tarn"]


def merge(alias: str, name: str, document: str = "d") -> Merge:
    return Merge(alias, name, "redirects", document)


def test_an_alias_leads_where_all_its_merges_name_one_node_and_else_nowhere() -> None:
    curie = merge("curie", "marie curie", "a")
    assert unambiguous([curie, merge("curie", "marie curie", "b")], PEOPLE) == {"curie": 0}
    two, none = merge("curie", "pierre curie"), merge("curie", "eve curie")
    for merges in ([curie, two], [none], [merge("tarn", "marie curie")]):
        assert unambiguous(merges, PEOPLE) == {}


def test_merges_come_back_from_disk_and_none_leave_no_file(tmp_path) -> None:
    save_merges(tmp_path, ())
    assert not (tmp_path / FILE).exists()
    assert load_merges(tmp_path) == ()
    merges = (merge("skłodowska", "marie curie"), Merge("a", "b", "acronyms", "d"))
    save_merges(tmp_path, merges)
    assert load_merges(tmp_path) == merges
