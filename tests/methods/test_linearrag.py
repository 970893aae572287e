"""LinearRAG: entities joined to the sentences and chunks that name them, by hand."""

import pytest
from builds import QUIET, Words, dense

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from methods.linearrag.activation import tri_graph

SPOKEN = ChunkTable.of([
    ("a", "", "Ada met Otto. Ada left. Nothing was said here."),
    ("b", "Velia", "Otto came. ada met Otto."),
])  # fmt: skip


SPEAKERS = Words(counts="Nothing", apart=True)


def test_sentences_and_chunks_are_joined_to_the_entities_that_they_name_as_often() -> None:
    graph = tri_graph(chunk_table=SPOKEN, nlp=SPEAKERS, progress=QUIET)
    assert list(graph.names) == ["ada", "otto"]
    assert list(graph.sentences) == ["Ada met Otto", "Ada left", "Otto came", "ada met Otto"]
    assert dense(graph.entity_sentence) == [[1, 1, 0, 0], [1, 0, 1, 1]]
    assert dense(graph.sentence_entity) == [[1, 1], [1, 0], [0, 1], [0, 1]]
    assert dense(graph.entity_chunk) == [[2, 0], [1, 2]]


def test_a_corpus_without_a_name_is_refused() -> None:
    nothing = ChunkTable.of([("a", "", "nothing here")])
    with pytest.raises(UserError, match="no entities"):
        tri_graph(chunk_table=nothing, nlp=SPEAKERS, progress=QUIET)
