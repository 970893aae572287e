"""Entities, sentences and chunks without relationships, by hand."""

import pytest
from small_worlds import Capitals

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.tri_graph import entities, tri_graph
from graphrag_bench.progress import Progress

TABLE = ChunkTable.of(
    [
        ("a", "", "Ada met Otto. Ada left. Nothing was said here."),
        ("b", "Velia", "Otto came. ada met Otto."),
    ]
)


class Tagger(Capitals):
    """Capitalised words are people; `Nothing` is a count, and a title stands in no sentence."""

    def sentences(self, texts):
        for text in texts:
            yield [self._sentence(part.strip()) for part in text.split("\n")[-1].split(".") if part]

    def _sentence(self, text):
        kinds = {"Nothing": "CARDINAL"}
        names = tuple((name, kinds.get(name, "PERSON")) for name in self.entities(text))
        return Sentence(text, names, (), ())


def made(titles: str = "off") -> TriGraph:
    return tri_graph(chunk_table=TABLE, nlp=Tagger(), progress=Progress(quiet=True), titles=titles)


def cells(matrix) -> list[list[int]]:
    return matrix.toarray().astype(int).tolist()


def test_entities_sentences_and_chunks_come_in_order_of_first_mention():
    graph = made()
    assert list(graph.names) == ["ada", "otto"]
    assert list(graph.sentences) == ["Ada met Otto", "Ada left", "Otto came", "ada met Otto"]


def test_a_sentence_joins_the_entities_that_it_names():
    assert cells(made().entity_sentence) == [[1, 1, 0, 0], [1, 0, 1, 1]]
    assert cells(made().sentence_entity) == [[1, 1], [1, 0], [0, 1], [0, 1]]


def test_every_mention_of_an_entity_in_a_chunk_counts():
    assert cells(made().entity_chunk) == [[2, 0], [1, 2]]


def test_a_title_can_be_an_entity_named_once_in_its_passage():
    graph = made("entity")
    assert list(graph.names) == ["ada", "otto", "velia"]
    assert cells(graph.entity_chunk) == [[2, 0], [1, 2], [0, 1]]
    assert cells(graph.entity_sentence)[2] == [0, 0, 0, 0]


def test_a_title_can_be_in_every_sentence_of_its_passage():
    assert cells(made("about").entity_sentence)[2] == [0, 0, 1, 1]


def test_texts_without_names_are_refused():
    silent = ChunkTable.of([("a", "", "nothing is said")])
    with pytest.raises(UserError, match="no entities"):
        tri_graph(chunk_table=silent, nlp=Tagger(), progress=Progress(quiet=True))


def test_its_entities_are_nodes_without_relationships():
    graph = entities(tri_graph=made())
    assert list(graph.names) == ["ada", "otto"]
    assert graph.n_relationships == 0
    assert cells(graph.node_chunk) == [[1, 0], [1, 1]]
