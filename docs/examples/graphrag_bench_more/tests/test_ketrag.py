"""Tests of KET-RAG's graph, extraction and search, with results computed by hand."""

import numpy as np
import pytest
from builds import QUIET, Known, Lengths, dense, ends, table, unit
from by_hand import Planted, alone, angle, at, check
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.extraction import ChunkRecords, EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench.values import Question
from graphrag_bench_more.ketrag.chunk_graph import (
    KeywordGraph,
    chunk_graph,
    core_chunks,
    core_nlp,
    keyword_graph,
    keyword_index,
)
from graphrag_bench_more.ketrag.chunk_graph import by_keyword as chunks_by_keyword

TEXTS = ["Ada founded Norvik.", "Ada inherited Norvik.", "Ada slept.", "Mira sang."]
PATH = Graph.from_arrays(source=[0, 0, 2], target=[1, 2, 3])
"""The chunks 1 - 0 - 2 - 3, with a PageRank of 0.325 in the middle and 0.175 at the ends."""


class Names(Known):
    """Tagger of three names that treats each text as one sentence and records all texts."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(("Ada", "Norvik", "Mira"), "PERSON"))
        self.texts: list[str] = []

    def sentences(self, texts):
        for text in texts:
            self.texts.append(text)
            yield [Sentence(text, tuple(self._named(text)), (), ())]


def graph_of(texts=TEXTS, degrees=(0, 10, 80, 90), **settings) -> Graph:
    return chunk_graph(
        chunk_table=table(*texts), chunk_index=VectorIndex(unit(np.deg2rad(degrees))),
        progress=QUIET, **settings,
    )  # fmt: skip


def edges(graph: Graph) -> list[tuple[int, int, str]]:
    return [(*pair, name) for pair, name in zip(ends(graph), graph.relations, strict=True)]


def test_chunks_are_linked_to_the_nearest_by_words_and_by_vectors():
    """Chunk 2 shares "ada" with 0 and 1 and is linked to 0. Chunk 3 shares no word."""
    assert edges(graph_of()) == [
        (0, 1, "shares words, is similar"),
        (0, 2, "shares words"),
        (2, 3, "is similar"),
    ]


def test_chunks_without_words_are_linked_by_vectors_alone():
    similar = [(0, 1, "is similar"), (2, 3, "is similar")]
    assert edges(graph_of(texts=["!", "?", "the", "--"])) == similar
    equal = edges(graph_of(texts=["!", "?", "the", "--"], degrees=(0, 0, 0, 90)))
    assert [pair[:2] for pair in equal] == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize(("share", "core"), [(0.1, [0]), (0.75, [0, 1, 2])])
def test_core_chunks_have_the_highest_pagerank(share, core):
    assert core_chunks(PATH, share).tolist() == core


def test_core_chunks_read_together_share_their_names():
    """The core chunks 0, 1 and 2 have 5, 5 and 3 tokens. Only 0 and 1 are read together."""
    names = Names()
    result = core_nlp(
        chunk_table=table(*TEXTS), chunk_graph=PATH, nlp=names, progress=QUIET, share=0.75,
        join_tokens=11,
    )  # fmt: skip
    assert names.texts == ["Ada founded Norvik. Ada inherited Norvik.", "Ada slept."]
    first, second, third, outside = result.rows
    assert [entity.description for entity in first.entities] == [names.texts[0]] * 2
    assert second.entities == (EntityRecord("Ada"), EntityRecord("Norvik"))
    assert [(one.source, one.strength) for one in second.relationships] == [("Ada", 0.0)]
    assert [entity.name for entity in third.entities] == ["Ada"]
    assert outside == ChunkRecords()
    assert text_graph(result, keywords=False).weight.tolist() == [1.0]


DOTS = Known({})
"""Tagger that splits sentences at dots and finds no names."""
TITLED = [("Tarn", "Ada climbed it. Mira climbed."), ("", "Mira climbed. She and the.")]


class Directions(Lengths):
    """`Ada climbed it` lies along the first axis, every other text along the second."""

    def encode(self, texts, *, kind):
        assert kind == "passage"
        return np.array([[1, 0] if "Ada" in text else [0, 1] for text in texts], np.float32)


def keywords_of(chunks=TITLED):
    table = ChunkTable.of([(f"d{row}", *chunk) for row, chunk in enumerate(chunks)])
    return keyword_graph(chunk_table=table, nlp=DOTS, progress=QUIET)


def test_keywords_are_the_words_of_titles_and_texts_without_stop_words():
    graph = keywords_of()
    assert list(graph.keywords) == ["ada", "climbed", "mira", "tarn"]
    assert list(graph.sentences) == ["Tarn", "Ada climbed it.", "Mira climbed."]
    assert dense(graph.keyword_chunk) == [[1, 0], [1, 1], [1, 1], [1, 0]]
    assert dense(graph.keyword_sentence) == [[0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]]


def test_a_keyword_vector_is_the_mean_of_its_sentences():
    index = keyword_index(keyword_graph=keywords_of(), embedder=Directions(), progress=QUIET)
    assert np.asarray(index.vectors).tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]


THREE = ChunkTable.of([("d0", "", "one two three"), ("d1", "", "one two"), ("d2", "", "one")])


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({"pool": 2}, [1, 0]),  # chunk 2 is the most similar one, but keyword 0 fills the pool
        ({"n_keywords": 1}, [1, 0]),
        # the pool has 4 tokens: of the 5 tokens of keyword 0, only chunk 1 (2 tokens) fits
        ({"tokens": 2}, [1]),
        ({"tokens": 6, "pool": 1, "top_k": 1}, [2, 1, 0]),
    ],
)
def test_chunks_of_the_keyword_pool_rank_by_similarity(settings, ids):
    """Keyword 0 (0 degrees) is in chunks 0 and 1, keyword 1 (90 degrees) in 1 and 2.

    The chunks lie at 60, 30 and 0 degrees, and have 3, 2 and 1 tokens.
    """
    in_chunks = csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], bool))
    result = alone(chunks_by_keyword)(
        Question("q", "0"),
        keyword_graph=KeywordGraph(
            Texts.of(["a", "b"]), Texts.of(["a", "b"]), in_chunks[:, :2], in_chunks
        ),
        keyword_index=at(0, 90),
        chunk_index=at(60, 30, 0),
        chunk_table=THREE,
        embedder=Planted(angle),
        **settings,
    )
    scores = {2: 1.0, 1: 0.866025, 0: 0.5}
    check(result, ids, [scores[chunk] for chunk in ids])
