"""Merges of names: which alias leads to which node, and what is kept on disk."""

from graphrag_bench.graph.merges import FILE, Merge, load_merges, save_merges, unambiguous

NAMES = ["marie curie", "pierre curie", "tarn"]


def merge(alias: str, name: str, document: str = "d") -> Merge:
    return Merge(alias, name, "surnames", document, False)


def test_an_alias_leads_to_the_node_that_all_its_merges_name() -> None:
    merges = [merge("curie", "marie curie", "a"), merge("curie", "marie curie", "b")]
    assert unambiguous(merges, NAMES) == {"curie": 0}


def test_an_alias_of_two_nodes_of_none_or_of_its_own_leads_nowhere() -> None:
    assert unambiguous([merge("curie", "marie curie"), merge("curie", "pierre curie")], NAMES) == {}
    assert unambiguous([merge("curie", "eve curie")], NAMES) == {}
    assert unambiguous([merge("tarn", "marie curie")], NAMES) == {}


def test_names_are_compared_without_accents() -> None:
    assert unambiguous([merge("Skłodowska", "Márie Curie")], NAMES) == {"sklodowska": 0}


def test_merges_come_back_from_disk_and_none_leave_no_file(tmp_path) -> None:
    save_merges(tmp_path, ())
    assert not (tmp_path / FILE).exists()
    assert load_merges(tmp_path) == ()
    merges = (merge("skłodowska", "marie curie"), Merge("a", "b", "acronyms", "", True))
    save_merges(tmp_path, merges)
    assert load_merges(tmp_path) == merges
