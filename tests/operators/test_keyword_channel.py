"""Chunks by the keywords nearest to the question, by hand."""

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.tri_graph import KeywordGraph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Query, Question
from operators.keyword_channel import by_keyword


def at(*degrees: float) -> VectorIndex:
    angles = np.deg2rad(degrees)
    return VectorIndex(np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))


CHUNKS = ChunkTable.of([("d0", "", "one two three"), ("d1", "", "one two"), ("d2", "", "one")])
"""Of 3, 2 and 1 tokens."""


class Angles:
    """A text is its angle."""

    identity = "angles"
    dimension = 2

    def encode(self, texts, *, kind):
        assert kind == "question"
        return at(*(float(text) for text in texts)).vectors


@pytest.fixture
def channel():
    """Keyword 0 lies at 0 degrees and is in chunks 0 and 1, keyword 1 at 90 and in 1 and 2."""
    from scipy.sparse import csr_matrix

    in_chunks = csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], bool))
    graph = KeywordGraph(Texts.of(["a", "b"]), Texts.of(["a", "b"]), in_chunks[:, :2], in_chunks)
    return {
        "keyword_graph": graph,
        "keyword_index": at(0, 90),
        "chunk_index": at(60, 30, 0),
        "chunk_table": CHUNKS,
        "embedder": Angles(),
    }


def found(channel, text="0", **settings):
    return alone(by_keyword)(Question("q", text), **settings, **channel)


def test_the_chunks_of_all_keywords_are_ranked_by_similarity(channel):
    ranked = found(channel)
    assert ranked.ids.tolist() == [2, 1, 0]
    np.testing.assert_allclose(ranked.scores, [1.0, 0.866025, 0.5], atol=1e-6)


def test_a_full_pool_has_the_chunks_of_the_nearest_keywords_alone(channel):
    """Chunk 2 is the most similar one, but keyword 0 fills the pool."""
    assert found(channel, pool=2).ids.tolist() == [1, 0]
    assert found(channel, n_keywords=1).ids.tolist() == [1, 0]


def test_the_last_keyword_hands_in_its_most_similar_chunks(channel):
    assert found(channel, pool=1).ids.tolist() == [1]
    assert found(channel, text="90", pool=1).ids.tolist() == [1]


def test_no_more_are_found_than_asked_for(channel):
    assert found(channel, top_k=1).ids.tolist() == [2]


def test_tokens_bound_a_pool_of_twice_as_many_and_what_is_found(channel):
    """Keyword 0 hands in 5 tokens: of 4, chunk 1 (2) alone fits the pool. Of 6, chunk 2 too."""
    assert found(channel, tokens=2).ids.tolist() == [1]
    assert found(channel, tokens=3).ids.tolist() == [2, 1]
    assert found(channel, tokens=6, pool=1, top_k=1).ids.tolist() == [2, 1, 0]


def test_a_query_takes_the_place_of_the_question(channel):
    ranked = alone(by_keyword)(Question("q", "0"), Query(("90",)), pool=2, **channel)
    assert ranked.ids.tolist() == [1, 2]
    assert len(alone(by_keyword)(Question("q", "0"), Query(()), **channel)) == 0


def test_more_keywords_are_looked_for_until_the_pool_is_full():
    """Ten keywords, each nearer than the next, hand in chunk 0 but for the last; a pool of 2."""
    from scipy.sparse import csr_matrix

    in_chunks = csr_matrix(np.array([[1, 0]] * 9 + [[0, 1]], bool))
    names = Texts.of([f"k{row}" for row in range(10)])
    index = CountingIndex(at(*range(0, 50, 5)).vectors)
    given = {
        "keyword_graph": KeywordGraph(names, names, in_chunks, in_chunks),
        "keyword_index": index,
        "chunk_index": at(60, 30),
        "chunk_table": CHUNKS,
        "embedder": Angles(),
    }
    assert found(given, pool=2).ids.tolist() == [1, 0]
    assert index.asked == [2, 8, 32]
    assert found(given, pool=2, n_keywords=9).ids.tolist() == [0]
    assert index.asked[3:] == [2, 8, 9]


class CountingIndex(VectorIndex):
    """An index that notes how many rows it is asked for."""

    @property
    def asked(self) -> list[int]:
        return self.statistics.setdefault("asked", [])

    def search(self, queries, k):
        self.asked.append(k)
        return super().search(queries, k)
