"""Names joined to passages, by hand."""

import pytest
from builds import QUIET, Words
from small_worlds import dataset

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import Merge
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.entity_passage import entity_passage

TABLE = ChunkTable.of([
    ("a", "Hello (song)", "Otto sang Hello. Ten listened."),
    ("b", "History of Velia", "Velià fell. Otto left."),
    ("c", "", "Ada came."),
])  # fmt: skip


def graph_of(table: ChunkTable = TABLE, documents=(), nlp: object = None, **settings) -> Graph:
    return entity_passage(
        corpus=dataset(*documents), chunk_table=table, nlp=nlp or Words(counts="Ten"),
        progress=QUIET, **settings,
    )  # fmt: skip


def test_titles_without_brackets_and_names_are_nodes_in_order_of_first_mention() -> None:
    assert list(graph_of().names) == [
        "hello",
        "otto",
        "history of velia",
        "history",
        "velia",
        "ada",
    ]


def test_the_title_of_a_passage_weighs_more_than_other_names_and_numbers_are_none() -> None:
    graph = graph_of()
    inside = [[3, 0, 0], [1, 1, 0], [0, 3, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert graph.node_chunk.toarray().tolist() == inside
    assert graph_of(title_weight=1).node_chunk.max() == 1
    assert graph.n_relationships == 0


def test_names_that_differ_in_accents_are_one_node_under_the_first_one_read() -> None:
    """Without titles only the texts are read."""
    assert list(graph_of(title_weight=0).names) == ["otto", "hello", "velià", "ada"]


NOTHING = ChunkTable.of([("a", "", "nothing here")])


def test_a_corpus_without_a_name_is_refused() -> None:
    with pytest.raises(UserError, match="no entities"):
        graph_of(NOTHING)


CURIES = ChunkTable.of([
    ("a", "Marie Curie (chemist)", "Curie came."),
    ("b", "Pierre Curie", "Marie left."),
    ("c", "", "Sklodowska came."),
])  # fmt: skip
KNOWN = [("a", "Marie Curie (chemist)", "Curie came.", None, ("Sklodowska",))]


def test_an_alias_is_the_node_that_it_stands_for_and_its_merge_is_kept_on_disk(tmp_path) -> None:
    graph = graph_of(CURIES, KNOWN, Words("Marie Curie", "Pierre Curie"))
    assert list(graph.names) == ["marie curie", "curie", "pierre curie", "marie"]
    assert graph.node_chunk.toarray().tolist() == [[3, 0, 1], [1, 0, 0], [0, 3, 0], [0, 1, 0]]
    assert graph.merges == (
        Merge("marie curie chemist", "marie curie", "brackets", "a"),
        Merge("sklodowska", "marie curie", "redirects", "a"),
    )
    graph.save(tmp_path)
    assert Graph.load(tmp_path).merges == graph.merges
