"""The merged names of the entity-passage graph by hand: brackets, redirects and acronyms."""

from builds import QUIET, Words
from small_worlds import dataset

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import Merge
from graphrag_bench.data.chunks import ChunkTable
from methods.entitypassage.names import ChunkNames, Name, acronyms, entity_passage, merged_names


def test_an_alias_becomes_its_node_and_merges_are_saved(tmp_path) -> None:
    curies = ChunkTable.of([
        ("a", "Marie Curie (chemist)", "Curie came."),
        ("b", "Pierre Curie", "Marie left."),
        ("c", "", "Sklodowska came."),
    ])  # fmt: skip
    known = [("a", "Marie Curie (chemist)", "Curie came.", None, ("Sklodowska",))]
    nlp = Words("Marie Curie", "Pierre Curie")
    needs = {"corpus": dataset(*known), "chunk_table": curies, "nlp": nlp, "progress": QUIET}
    graph = entity_passage(**needs)
    assert entity_passage(**needs, title_weight=1).node_chunk.max() == 1
    assert list(graph.names) == ["marie curie", "curie", "pierre curie", "marie"]
    assert graph.node_chunk.toarray().tolist() == [[3, 0, 1], [1, 0, 0], [0, 3, 0], [0, 1, 0]]
    assert graph.merges == (
        Merge("marie curie chemist", "marie curie", "brackets", "a"),
        Merge("sklodowska", "marie curie", "redirects", "a"),
    )
    graph.save(tmp_path)
    assert Graph.load(tmp_path).merges == graph.merges


def chunk(text: str = "", document: str = "d", title: str = "") -> ChunkNames:
    return ChunkNames(document, Name.of(title) if title else None, (), text)


def merged(*chunks: ChunkNames, **redirects: list[str]) -> list[tuple[str, str, str]]:
    names, merges = merged_names(chunks, redirects)
    assert [name.text for name in names.values()] == [merge.name for merge in merges]
    return [(merge.alias, merge.name, merge.rule) for merge in merges]


def test_acronyms_defined_in_a_text():
    for text, pair in (
        ("The World Health Organization (WHO) met.", ("WHO", "World Health Organization")),
        ("The WHO (World Health Organization) met.", ("WHO", "World Health Organization")),
        ("Bharatiya Janata Party (BJP; 1980)", ("BJP", "Bharatiya Janata Party")),
        ("Craft and Folk Art Museum (CAFAM)", ("CAFAM", "Craft and Folk Art Museum")),
        *((text, None) for text in (
            "The World Health Organization (Geneva) met.", "It met. (WHO) was there.",
            "He said so (WHO).", "The Bank (IBM) failed.", "Paris (who knows) is far.", "(WHO)",
        )),
    ):  # fmt: skip
        assert list(acronyms(text)) == ([pair] if pair else [])


def test_an_acronym_is_merged_into_the_title_if_all_definitions_agree():
    who, long = "World Health Organization (WHO)", "World Health Organization"
    short = ("who", long.lower(), "acronyms")
    for chunks, expected in (
        ((chunk(who), chunk(who, "e")), [short]),
        ((chunk(who), chunk("Wild Horse Office (WHO)", "e")), []),
        ((chunk(who, title="WHO"),), [(long.lower(), "who", "acronyms")]),
        ((chunk(who, title="WHO"), chunk("", "e", long)), []),
    ):
        assert merged(*chunks) == expected


def test_a_redirect_is_merged_unless_two_documents_claim_it():
    first, second = chunk("", "a", "Marie Curie"), chunk("", "b", "Tarn (town)")
    assert merged(first, second, a=["Maria Skłodowska"], b=["Old Tarn"]) == [
        ("maria skłodowska", "marie curie", "redirects"),
        ("old tarn", "tarn", "redirects"),
    ]
    assert merged(first, second, a=["Home"], b=["Home"]) == []
    assert merged(first, second, a=["Tarn", " ", "Marie Curie"]) == []
