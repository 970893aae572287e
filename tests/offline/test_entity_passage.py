"""Names and titles joined to the passages that name them, by hand."""

import pytest
from small_worlds import Capitals

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.entity_passage import entity_passage
from graphrag_bench.progress import Progress

TABLE = ChunkTable.of(
    [
        ("a", "Hello (song)", "Otto sang Hello. Ten listened."),
        ("b", "History of Velia", "Velià fell. Otto left."),
        ("c", "", "Ada came."),
    ]
)


class Tagger(Capitals):
    """Capitalised words are people; `Ten` is a count."""

    def sentences(self, texts):
        for text in texts:
            kinds = {"Ten": "CARDINAL"}
            named = [word.strip(".()") for word in text.split() if word[0].isupper()]
            yield [Sentence(text, tuple((n, kinds.get(n, "PERSON")) for n in named), (), ())]


def made(table: ChunkTable = TABLE, **settings: int) -> Graph:
    return entity_passage(
        chunk_table=table, nlp=Tagger(), progress=Progress(quiet=True), **settings
    )


def test_titles_without_brackets_and_names_are_nodes_in_order_of_first_mention() -> None:
    assert list(made().names) == ["hello", "otto", "history of velia", "history", "velia", "ada"]


def test_the_title_of_a_passage_weighs_more_than_other_names_and_numbers_are_none() -> None:
    graph = made()
    assert graph.node_chunk.toarray().tolist() == [
        [3, 0, 0],
        [1, 1, 0],
        [0, 3, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]
    assert made(title_weight=1).node_chunk.max() == 1
    assert graph.n_relationships == 0


def test_names_that_differ_in_accents_are_one_node_under_the_first_one_read() -> None:
    names = list(made(title_weight=0).names)
    assert names == ["otto", "hello", "velià", "ada"]
    assert "velià" not in list(made().names)


def test_without_titles_only_the_texts_are_read() -> None:
    assert "history of velia" not in list(made(title_weight=0).names)


def test_names_in_too_few_passages_are_left_out_unless_they_are_titles() -> None:
    graph = made(min_chunks=2)
    assert list(graph.names) == ["hello", "otto", "history of velia"]
    assert graph.node_chunk.toarray().tolist() == [[3, 0, 0], [1, 1, 0], [0, 3, 0]]


def test_a_corpus_without_a_name_is_refused() -> None:
    with pytest.raises(UserError, match="no entities"):
        made(ChunkTable.of([("a", "", "nothing here")]))


def test_the_weights_are_kept_on_disk(tmp_path) -> None:
    graph = made()
    graph.save(tmp_path)
    kept = Graph.load(tmp_path)
    assert kept.node_chunk.toarray().tolist() == graph.node_chunk.toarray().tolist()
