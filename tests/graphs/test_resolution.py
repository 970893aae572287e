"""Names merged by rule: worked out by hand, with the traps in which nothing may be merged."""

import pytest

from graphrag_bench.graphs.resolution import (
    ChunkNames,
    Name,
    Resolution,
    Rule,
    acronyms,
    resolution,
)

RULES: tuple[Rule, ...] = ("redirects", "acronyms", "initials", "surnames", "plurals")


def chunk(
    names: dict[str, str], text: str = "", document: str = "d", title: str = ""
) -> ChunkNames:
    """A chunk with names and their labels."""
    named = Name.of(title) if title else None
    return ChunkNames(
        document, named, tuple(Name.of(name, kind) for name, kind in names.items()), text
    )


def merged(
    *chunks: ChunkNames, rules: tuple[Rule, ...] = RULES, **redirects: list[str]
) -> list[tuple[str, str, str]]:
    result = resolution(chunks, redirects, rules).merges
    return [(one.alias, one.name, one.rule) for one in result]


def people(*names: str, **others: str) -> ChunkNames:
    return chunk(dict.fromkeys(names, "PERSON") | others)


WASHINGTON = people("George Washington", "Washington")


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (people("Marie Curie", "Curie"), [("curie", "marie curie", "surnames")]),
        (people("Max von Laue", "von Laue", "Laue"),
         [("von laue", "max von laue", "surnames"), ("laue", "max von laue", "surnames")]),
        (people("Irène Segrè", "SEGRE's"), [("segre", "irène segrè", "surnames")]),
        (people("Martin Luther King Jr.", "King"), [("king", "martin luther king jr", "surnames")]),
        (people("Marie Curie", "M. Curie"), [("m curie", "marie curie", "initials")]),
        (people("Joseph John Thomson", "J. J. Thomson", "J. Thomson", "Thomson"),
         [("j j thomson", "joseph john thomson", "initials"),
          ("j thomson", "joseph john thomson", "initials"),
          ("thomson", "joseph john thomson", "surnames")]),
        (people("Wilhelm Conrad Roentgen", "Wilhelm Roentgen"),
         [("wilhelm roentgen", "wilhelm conrad roentgen", "initials")]),
        (chunk({"Romans": "NORP", "Roman": "NORP"}), [("romans", "roman", "plurals")]),
        (chunk({"Treaties": "LAW", "Treaty": "LAW"}), [("treaties", "treaty", "plurals")]),
    ],
)  # fmt: skip
def test_surnames_initials_and_plurals_of_a_document_are_one_name(reading, expected):
    assert merged(reading) == expected


@pytest.mark.parametrize(
    "chunks",
    [
        [people("Marie Curie", "Pierre Curie", "Curie")],
        [chunk({"Marie Curie": "PERSON"}), chunk({"Curie": "PERSON"}, "", "e")],
        *([people("George Washington", Washington=kind)]
          for kind in ("GPE", "LOC", "FAC", "NORP", "LANGUAGE")),
        [people("Paris Hilton", "Paris")],
        [chunk({"University of Hamburg": "ORG", "Hamburg": "ORG"})],
        [chunk({"Mond Laboratory": "ORG", "Laboratory": "ORG"})],
        [WASHINGTON, *(chunk({"Washington": "GPE"}, "", name) for name in "ef")],
        [WASHINGTON, chunk({}, "", "e", title="Washington")],
        [people("Gustav Hertz", "Hertz", **{"Franck Hertz": "ORG"})],
        [people("Marie Curie", "Michel Curie", "M. Curie")],
        [people("Joseph Smith", "Joseph Smith III")],
        [people("Otto Hahn", "Otto Frisch")],
        [people("Williams", "William")],
        [chunk({"Americas": "LOC", "America": "GPE"})],
        [chunk({"Romans": "NORP"}), chunk({"Roman": "NORP"}, "", "e")],
        [*(chunk({"United States": "GPE"}, "", name) for name in "ab"),
         chunk({"United State": "GPE"}, "", "c")],
    ],
)  # fmt: skip
def test_what_may_be_two_things_is_not_merged(chunks):
    assert merged(*chunks) == []


def test_chunks_of_one_document_are_read_together_and_initials_need_the_same_surname():
    first, second = chunk({"Marie Curie": "PERSON"}), chunk({"Curie": "PERSON"})
    assert merged(first, second) == [("curie", "marie curie", "surnames")]
    assert merged(people("Pierre Curie", "M. Curie"), rules=("initials",)) == []


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("The World Health Organization (WHO) met.", ("WHO", "World Health Organization")),
        ("The WHO (World Health Organization) met.", ("WHO", "World Health Organization")),
        ("Bharatiya Janata Party (BJP; 1980)", ("BJP", "Bharatiya Janata Party")),
        ("a polymerase chain reaction (PCR)", ("PCR", "polymerase chain reaction")),
        ("Craft and Folk Art Museum (CAFAM)", ("CAFAM", "Craft and Folk Art Museum")),
        *((text, None) for text in (
            "The World Health Organization (Geneva) met.", "It met. (WHO) was there.",
            "He said so (WHO).", "The Bank (IBM) failed.", "Paris (who knows) is far.", "(WHO)",
        )),
    ],
)  # fmt: skip
def test_a_text_defines_acronyms_and_nothing_else(text, pair):
    assert list(acronyms(text)) == ([pair] if pair else [])


def test_an_acronym_holds_in_its_document_and_everywhere_where_all_agree():
    who = "World Health Organization (WHO)"
    first = chunk({"WHO": "ORG"}, who, "a")
    second = chunk({"WHO": "ORG"}, "", "b")
    result = resolution([first, second], {}, RULES)
    assert result.name("who", "a") == result.name("who", "b") == "world health organization"
    other = chunk({"WHO": "ORG"}, "Wild Horse Office (WHO)", "c")
    result = resolution([first, second, other], {}, RULES)
    names = [result.name("who", document) for document in "abc"]
    assert names == ["world health organization", "who", "wild horse office"]


def test_of_acronym_and_long_form_the_title_is_the_name():
    text = "European Council for Research (ECFR)"
    result = resolution([chunk({"ECFR": "ORG"}, text, "a", title="ECFR")], {}, RULES)
    assert result.name("european council for research", "b") == "ecfr"
    both = [chunk({}, text, "a", "ECFR"), chunk({}, "", "b", "European Council for Research")]
    assert resolution(both, {}, RULES).merges == ()


def test_redirects_hold_everywhere_unless_two_documents_claim_them():
    first, second = chunk({}, "", "a", title="Marie Curie"), chunk({}, "", "b", title="Tarn (town)")
    assert merged(first, second, a=["Maria Skłodowska"], b=["Old Tarn"]) == [
        ("maria skłodowska", "marie curie", "redirects"),
        ("old tarn", "tarn", "redirects"),
    ]
    assert merged(first, second, a=["Home"], b=["Home"]) == []
    assert merged(first, second, a=["Tarn", " ", "Marie Curie"]) == []


def test_plurals_of_several_words_hold_everywhere():
    apart = [chunk({"Geiger Counters": "PRODUCT"}), chunk({"Geiger Counter": "PRODUCT"}, "", "e")]
    assert merged(*apart) == [("geiger counters", "geiger counter", "plurals")]


def test_merges_end_at_the_last_name_of_a_chain_and_never_go_in_a_circle():
    readings = [chunk({"M. Curie": "PERSON", "Marie Curie": "PERSON", "Curie": "PERSON"})]
    result = resolution(readings, {}, RULES)
    assert {result.name(key, "d") for key in ("curie", "m curie", "marie curie")} == {"marie curie"}
    circle, ada, una = Resolution(), Name.of("Ada Marsh"), Name.of("Una Tarn")
    circle.merge(una, ada, "redirects", "d", everywhere=True)
    circle.merge(ada, una, "redirects", "d", everywhere=True)
    assert {circle.name(one.key, "d") for one in (ada, una)} == {"ada marsh"}


def test_without_rules_nothing_is_merged_and_their_order_does_not_matter():
    readings = [people("Marie Curie", "M. Curie", "Curie", Romans="NORP", Roman="NORP")]
    assert resolution(readings, {"d": ("Tarn",)}, ()).merges == ()
    assert merged(*readings, rules=RULES) == merged(*readings, rules=RULES[::-1])
