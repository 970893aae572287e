"""Names merged by rule: worked out by hand, with the traps in which nothing may be merged."""

import pytest

from graphrag_bench.offline import resolution as resolving
from graphrag_bench.offline.definitions import acronyms, also_known
from graphrag_bench.offline.resolution import Name, Reading, Rule, resolution

RULES: tuple[Rule, ...] = (
    "redirects", "also_known", "acronyms", "initials", "surnames", "plurals",
)  # fmt: skip
Merged = list[tuple[str, str, str]]


def chunk(names: dict[str, str], text: str = "", document: str = "d", title: str = "") -> Reading:
    """A chunk with names and their labels."""
    held = Name.of(title) if title else None
    return Reading(document, held, tuple(Name.of(name, kind) for name, kind in names.items()), text)


def merged(*chunks: Reading, rules: tuple[Rule, ...] = RULES, **redirects: list[str]) -> Merged:
    found = resolution(chunks, redirects, rules).merges
    return [(one.alias, one.name, one.rule) for one in found]


def people(*names: str, **others: str) -> Reading:
    return chunk(dict.fromkeys(names, "PERSON") | others)


def test_a_surname_is_the_one_person_of_the_document_whose_name_ends_so():
    assert merged(people("Marie Curie", "Curie")) == [("curie", "marie curie", "surnames")]
    assert merged(people("Max von Laue", "von Laue", "Laue")) == [
        ("von laue", "max von laue", "surnames"),
        ("laue", "max von laue", "surnames"),
    ]


def test_a_surname_of_two_persons_is_left_and_so_is_one_in_another_document():
    assert merged(people("Marie Curie", "Pierre Curie", "Curie")) == []
    assert merged(chunk({"Marie Curie": "PERSON"}), chunk({"Curie": "PERSON"}, "", "e")) == []


def test_chunks_of_one_document_are_read_together():
    first, second = chunk({"Marie Curie": "PERSON"}), chunk({"Curie": "PERSON"})
    assert merged(first, second) == [("curie", "marie curie", "surnames")]
    third = chunk({"Pierre Curie": "PERSON"})
    assert merged(first, second, third) == []


@pytest.mark.parametrize("kind", ["GPE", "LOC", "FAC", "NORP", "LANGUAGE"])
def test_a_place_or_a_people_is_no_surname(kind):
    assert merged(people("George Washington", Washington=kind)) == []


def test_a_first_name_is_not_merged_into_the_person():
    assert merged(people("Paris Hilton", Paris="GPE")) == []
    assert merged(people("Paris Hilton", "Paris")) == []


def test_only_a_person_lends_its_surname():
    assert merged(chunk({"University of Hamburg": "ORG", "Hamburg": "ORG"})) == []
    assert merged(chunk({"Mond Laboratory": "ORG", "Laboratory": "ORG"})) == []


def test_a_name_that_is_something_else_elsewhere_more_often_is_no_surname():
    here = people("George Washington", "Washington")
    there = [chunk({"Washington": "GPE"}, "", name) for name in "ef"]
    assert merged(here, *there) == []


def test_a_title_is_not_merged_into_a_longer_name():
    here = people("George Washington", "Washington")
    assert merged(here, chunk({}, "", "e", title="Washington")) == []


def test_any_other_longer_name_that_ends_so_makes_a_surname_ambiguous():
    assert merged(people("Gustav Hertz", "Hertz", **{"Franck Hertz": "ORG"})) == []


def test_surnames_are_found_whatever_case_accents_and_endings():
    assert merged(people("Irène Segrè", "SEGRE's")) == [("segre", "irène segrè", "surnames")]
    assert merged(people("Martin Luther King Jr.", "King")) == [
        ("king", "martin luther king jr", "surnames")
    ]


def test_initials_and_missing_middle_names_are_one_person():
    assert merged(people("Marie Curie", "M. Curie")) == [("m curie", "marie curie", "initials")]
    assert merged(people("Joseph John Thomson", "J. J. Thomson", "J. Thomson", "Thomson")) == [
        ("j j thomson", "joseph john thomson", "initials"),
        ("j thomson", "joseph john thomson", "initials"),
        ("thomson", "joseph john thomson", "surnames"),
    ]
    assert merged(people("Wilhelm Conrad Roentgen", "Wilhelm Roentgen")) == [
        ("wilhelm roentgen", "wilhelm conrad roentgen", "initials")
    ]


def test_initials_of_two_persons_of_another_name_or_generation_are_left():
    assert merged(people("Marie Curie", "Michel Curie", "M. Curie")) == []
    assert merged(people("Pierre Curie", "M. Curie"), rules=("initials",)) == []
    assert merged(people("Joseph Smith", "Joseph Smith III")) == []
    assert merged(people("Otto Hahn", "Otto Frisch")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The World Health Organization (WHO) met.", ("WHO", "World Health Organization")),
        ("The WHO (World Health Organization) met.", ("WHO", "World Health Organization")),
        ("Bharatiya Janata Party (BJP; 1980)", ("BJP", "Bharatiya Janata Party")),
        ("a polymerase chain reaction (PCR)", ("PCR", "polymerase chain reaction")),
        ("Craft and Folk Art Museum (CAFAM)", ("CAFAM", "Craft and Folk Art Museum")),
    ],
)
def test_an_acronym_has_its_long_form_next_to_it(text, found):
    assert list(acronyms(text)) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "The World Health Organization (Geneva) met.",
        "It met. (WHO) was there.",
        "He said so (WHO).",
        "The Bank (IBM) failed.",
        "Paris (who knows) is far.",
        "(WHO)",
    ],
)
def test_other_brackets_define_nothing(text):
    assert list(acronyms(text)) == []


def test_an_acronym_holds_in_its_document_and_everywhere_where_all_agree():
    who = "World Health Organization (WHO)"
    first = chunk({"WHO": "ORG"}, who, "a")
    second = chunk({"WHO": "ORG"}, "", "b")
    made = resolution([first, second], {}, RULES)
    assert made.name("who", "a") == made.name("who", "b") == "world health organization"
    other = chunk({"WHO": "ORG"}, "Wild Horse Office (WHO)", "c")
    made = resolution([first, second, other], {}, RULES)
    assert made.name("who", "a") == "world health organization"
    assert made.name("who", "b") == "who"
    assert made.name("who", "c") == "wild horse office"


def test_of_acronym_and_long_form_the_title_is_the_name():
    text = "European Council for Research (ECFR)"
    made = resolution([chunk({"ECFR": "ORG"}, text, "a", title="ECFR")], {}, RULES)
    assert made.name("european council for research", "b") == "ecfr"
    both = [chunk({}, text, "a", "ECFR"), chunk({}, "", "b", "European Council for Research")]
    assert resolution(both, {}, RULES).merges == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ada Marsh is also known as Una Tarn.", ("Una Tarn", "Ada Marsh")),
        ("Ada Marsh (born Ada Tarn; 1815) wrote.", ("Ada Tarn", "Ada Marsh")),
        ("Ada Marsh (1815-1852), better known as Una, wrote.", ("Una", "Ada Marsh")),
        ("J. J. Marsh, formerly called Mr. Tarn, wrote.", ("Mr. Tarn", "J. J. Marsh")),
        ("The Siege of the Tarn (also known as The Rout)", ("The Rout", "The Siege of the Tarn")),
    ],
)
def test_a_text_says_that_something_is_also_known_by_another_name(text, found):
    assert list(also_known(text)) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "It is also known as Tarn.",
        "Velia is a town, also called Tarn.",
        "Ada Marsh (born January 9, 1815) wrote.",
        "Ada Marsh (born 9 January 1815 in Tarn) wrote.",
        "Marsh and Tarn, also known as Velia, met.",
        "Ada Marsh is also known as the best.",
    ],
)
def test_dates_pronouns_and_descriptions_are_no_other_names(text):
    assert list(also_known(text)) == []


def test_another_name_holds_everywhere_only_where_the_text_is_about_the_thing():
    says, other = "Ada Marsh is also known as Una Tarn.", chunk({"Una Tarn": "PERSON"}, "", "b")
    about = resolution([chunk({}, says, "a", title="Ada Marsh"), other], {}, RULES)
    assert about.name("una tarn", "b") == "ada marsh"
    aside = resolution([chunk({}, says, "a", title="Velia"), other], {}, RULES)
    assert (aside.name("una tarn", "a"), aside.name("una tarn", "b")) == ("ada marsh", "una tarn")


def test_redirects_hold_everywhere_unless_two_documents_claim_them():
    first, second = chunk({}, "", "a", title="Marie Curie"), chunk({}, "", "b", title="Tarn (town)")
    assert merged(first, second, a=["Maria Skłodowska"], b=["Old Tarn"]) == [
        ("maria skłodowska", "marie curie", "redirects"),
        ("old tarn", "tarn", "redirects"),
    ]
    assert merged(first, second, a=["Home"], b=["Home"]) == []
    assert merged(first, second, a=["Tarn", " ", "Marie Curie"]) == []


def test_plurals_are_their_singular_where_it_is_named_as_often_with_the_same_label():
    both = chunk({"Romans": "NORP", "Roman": "NORP"})
    assert merged(both) == [("romans", "roman", "plurals")]
    assert merged(chunk({"Romans": "NORP"}), chunk({"Roman": "NORP"}, "", "e")) == []
    apart = [chunk({"Geiger Counters": "PRODUCT"}), chunk({"Geiger Counter": "PRODUCT"}, "", "e")]
    assert merged(*apart) == [("geiger counters", "geiger counter", "plurals")]
    assert merged(chunk({"Treaties": "LAW", "Treaty": "LAW"})) == [
        ("treaties", "treaty", "plurals")
    ]


def test_persons_other_labels_and_rarer_singulars_have_no_plural():
    assert merged(people("Williams", "William")) == []
    assert merged(chunk({"Americas": "LOC", "America": "GPE"})) == []
    states = [chunk({"United States": "GPE"}, "", name) for name in "ab"]
    assert merged(*states, chunk({"United State": "GPE"}, "", "c")) == []


def test_merges_end_at_the_last_name_of_a_chain_and_never_go_in_a_circle():
    readings = [chunk({"M. Curie": "PERSON", "Marie Curie": "PERSON", "Curie": "PERSON"})]
    made = resolution(readings, {}, RULES)
    assert {made.name(key, "d") for key in ("curie", "m curie", "marie curie")} == {"marie curie"}
    circle = "Ada Marsh is also known as Una Tarn. Una Tarn is also known as Ada Marsh."
    made = resolution([chunk({}, circle)], {}, RULES)
    assert {made.name("ada marsh", "d"), made.name("una tarn", "d")} == {"ada marsh"}


def test_without_rules_nothing_is_merged_and_their_order_does_not_matter():
    readings = [people("Marie Curie", "M. Curie", "Curie", Romans="NORP", Roman="NORP")]
    assert resolution(readings, {"d": ("Tarn",)}, ()).merges == ()
    assert merged(*readings, rules=RULES) == merged(*readings, rules=RULES[::-1])


def test_names_that_end_alike_in_one_document_are_not_compared_pair_by_pair(monkeypatch):
    """Ten times the names of one document give ten times the comparisons, not a hundred times."""
    compared = []
    for rule in ("_ends", "_abbreviates"):
        plain = getattr(resolving, rule)

        def counted(short, longer, plain=plain):
            compared.append(short)
            return plain(short, longer)

        monkeypatch.setattr(resolving, rule, counted)
    counts = []
    for n_names in (30, 300):
        compared.clear()
        bodies = {f"{'abcdefghij'[n % 10]}{n} Health Office": "ORG" for n in range(n_names)}
        merged(chunk(bodies | {"A. Health Office": "ORG"}))
        counts.append(len(compared))
    assert counts[1] <= 10 * counts[0]
