"""Names merged by redirects and acronyms: worked out by hand, with what may not be merged."""

import pytest

from graphrag_bench.graphs.resolution import ChunkNames, Name, acronyms, merged_names


def chunk(text: str = "", document: str = "d", title: str = "") -> ChunkNames:
    return ChunkNames(document, Name.of(title) if title else None, (), text)


def merged(*chunks: ChunkNames, **redirects: list[str]) -> list[tuple[str, str, str]]:
    names, merges = merged_names(chunks, redirects)
    assert [name.shown for name in names.values()] == [merge.name for merge in merges]
    return [(merge.alias, merge.name, merge.rule) for merge in merges]


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


WHO = chunk("World Health Organization (WHO)")


def test_an_acronym_is_its_long_form_where_all_definitions_agree():
    assert merged(WHO, chunk(WHO.text, "e")) == [("who", "world health organization", "acronyms")]
    assert merged(WHO, chunk("Wild Horse Office (WHO)", "e")) == []


def test_of_acronym_and_long_form_the_title_is_the_name():
    assert merged(chunk(WHO.text, title="WHO")) == [
        ("world health organization", "who", "acronyms")
    ]
    assert merged(chunk(WHO.text, "d", "WHO"), chunk("", "e", "World Health Organization")) == []


def test_redirects_name_the_title_unless_two_documents_claim_them():
    first, second = chunk("", "a", "Marie Curie"), chunk("", "b", "Tarn (town)")
    assert merged(first, second, a=["Maria Skłodowska"], b=["Old Tarn"]) == [
        ("maria skłodowska", "marie curie", "redirects"),
        ("old tarn", "tarn", "redirects"),
    ]
    assert merged(first, second, a=["Home"], b=["Home"]) == []
    assert merged(first, second, a=["Tarn", " ", "Marie Curie"]) == []


def test_an_acronym_of_a_redirect_stands_for_the_title():
    title = chunk("", "a", "United Nations Health Agency")
    assert merged(WHO, title, a=["World Health Organization"]) == [
        ("world health organization", "united nations health agency", "redirects"),
        ("who", "united nations health agency", "acronyms"),
    ]
