"""Chunks picked among those of rows, and by the keywords in them, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted, angle, at, ranked

from graphrag_bench.algorithms.bipartite import KeywordGraph
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Question
from operators.chunk.channels import by_keyword
from operators.chunk.pick import similar, similar_and_dense

# ---- Chunks picked by similarity of what was found, worked out by hand on four chunks

A, B, C = range(3)
COSINES = (0.9, 0.5, 0.7, 0.1)
"""Of the chunks 0 to 3 to the question."""


INDEX = VectorIndex(np.array([[c, np.sqrt(1 - c * c)] for c in COSINES], np.float32))
GRAPH = Graph.from_arrays(
    source=[A, B],
    target=[B, C],
    node_chunk=[[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
    relationship_chunk=[[0, 1, 0, 0], [0, 0, 1, 1]],
)
ROOM = {"graph": GRAPH, "chunk_index": INDEX, "embedder": Planted()}


def picked(operator, nodes, relationships, **settings) -> list[int]:
    given = Question("q", "asked"), ranked(*nodes), ranked(*relationships), ranked(3)
    return alone(operator)(*given, **ROOM, **settings).ids.tolist()


def test_chunks_of_nodes_and_of_relationships_come_in_turn_best_first_and_each_once():
    # nodes hold 0 (0.9) and 1 (0.5); the rows add 2 (0.7) and 3 (0.1): in turn 0, 2, 1, 3
    assert picked(similar, [A, B], [0, 1]) == [0, 2, 1, 3]


def test_half_of_per_row_is_taken_for_each_row_rounded_down():
    # two nodes: 2 * 1 / 2 = 1 chunk, which is 0; one row with a new chunk: 1 / 2, which is none
    assert picked(similar, [A, B], [0], per_row=1) == [0]
    # two rows with new chunks, 1 and 2, 3: 2 * 1 / 2 = 1 of these
    assert picked(similar, [A, B], [0, 1], per_row=1) == [0, 2]


def test_a_row_without_a_new_chunk_does_not_count_towards_how_many_are_taken():
    # row 0 has chunk 1 alone, which node B has given: only row 1 counts, 3 / 2 = 1 of its chunks
    assert picked(similar, [B], [0, 1], per_row=3) == [1, 2]


def test_similar_chunks_of_the_whole_corpus_take_turns_first():
    # dense 0, 2; nodes 1; relationships nothing: 0, 1, 2
    assert picked(similar_and_dense, [B], [], top_k=2, min_score=0.6) == [0, 1]
    assert picked(similar_and_dense, [B], [], top_k=4, min_score=0.6) == [0, 1, 2]


# ---- Chunks by the keywords nearest to the question, by hand

CHUNKS = ChunkTable.of([("d0", "", "one two three"), ("d1", "", "one two"), ("d2", "", "one")])
"""Of 3, 2 and 1 tokens."""


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
        "embedder": Planted(angle),
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


def test_tokens_bound_a_pool_of_twice_as_many_and_what_is_found(channel):
    """Keyword 0 hands in 5 tokens: of 4, chunk 1 (2) alone fits the pool. Of 6, chunk 2 too."""
    assert found(channel, tokens=2).ids.tolist() == [1]
    assert found(channel, tokens=3).ids.tolist() == [2, 1]
    assert found(channel, tokens=6, pool=1, top_k=1).ids.tolist() == [2, 1, 0]


def test_more_keywords_are_looked_for_until_the_pool_is_full():
    """Ten keywords, each nearer than the next, hand in chunk 0 but for the last; a pool of 2."""
    from scipy.sparse import csr_matrix

    in_chunks = csr_matrix(np.array([[1, 0]] * 9 + [[0, 1]], bool))
    names = Texts.of([f"k{row}" for row in range(10)])
    given = {
        "keyword_graph": KeywordGraph(names, names, in_chunks, in_chunks),
        "keyword_index": at(*range(0, 50, 5)),
        "chunk_index": at(60, 30),
        "chunk_table": CHUNKS,
        "embedder": Planted(angle),
    }
    assert found(given, pool=2).ids.tolist() == [1, 0]
    assert found(given, pool=2, n_keywords=9).ids.tolist() == [0]
