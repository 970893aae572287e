"""The chunk table: which chunks a document is in."""

from __future__ import annotations

from graphrag_bench.data.chunks import ChunkTable

TABLE = ChunkTable.of(
    [("a", "", "one"), ("a", "", "two"), ("b", "", "three"), ("c", "", "one"), ("b", "", "two")]
)


def test_a_document_has_its_chunks_in_table_order() -> None:
    assert [TABLE.chunks_of(name) for name in ("a", "b")] == [[0, 1], [1, 2]]


def test_equal_contents_are_one_chunk_of_both_documents() -> None:
    assert TABLE.chunks_of("c") == [0]
    assert TABLE.documents_of(0) == ["a", "c"]


def test_a_document_that_is_not_there_has_no_chunks() -> None:
    assert TABLE.chunks_of("d") == []
