"""Chunks by scores, of rows, picked and by keywords, by hand, and by dicts and lists."""

import math

import numpy as np
import pytest
from by_hand import Planted, angle, at, check, ranked
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.indices.bm25 import Bm25
from graphrag_bench.values import NodeScores, Query, Question, RelationshipScores
from methods.ketrag.chunk_graph import KeywordGraph, by_keyword
from methods.lightrag import pick
from methods.lightrag.pick import similar, similar_and_dense
from operators.chunk.aggregator import aggregator
from operators.chunk.fromrel import fromrel, leaves
from operators.chunk.occurrence import occurrence
from operators.chunk.search import bm25, min_max, vdb


def scores(*values: float) -> RelationshipScores:
    return RelationshipScores(np.array(values))


@pytest.fixture
def graph():
    """Relationship 0, of 0 and 1, is read from the chunks 0 and 1; 1, of 1 and 2, from chunk 1."""
    return Graph.from_arrays(
        source=[0, 1],
        target=[1, 2],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 0]],
        relationship_chunk=[[1, 1, 0], [0, 1, 0]],
    )


def test_a_chunk_scores_the_sum_of_its_relationships_or_of_its_nodes(graph):
    result = aggregator(scores(0.8, 0.5), graph=graph)
    check(result, [1, 0], [1.3, 0.8])
    mass = NodeScores(np.array([0.5, 0.3, 0.2]))
    result = aggregator(scores(0.0, 0.0), mass, graph=graph, by="nodes")
    check(result, [1, 0], [1.0, 0.8])
    with pytest.raises(UserError, match=r"use: \[node_scores\]"):
        aggregator(scores(0.8, 0.5), graph=graph, by="nodes")


def test_a_pair_counts_by_its_best_row():
    # Two facts join 0 and 1: row 0 in chunk 0, row 1 in the chunks 0 and 1.
    parallel = Graph.from_arrays(
        source=[0, 1],
        target=[1, 0],
        node_chunk=[[1, 1], [1, 1]],
        relationship_chunk=[[1, 0], [1, 1]],
    )
    result = aggregator(scores(0.2, 0.8), graph=parallel)
    np.testing.assert_allclose(result.scores, [0.8, 0.8])


def test_scores_go_from_nothing_to_the_weight_and_keep_their_order():
    """12, 6 and 2 lie 10, 4 and 0 above the lowest."""
    result = min_max(ranked(4, 9, 1, scores=(12.0, 6.0, 2.0)), weight=0.5)
    check(result, [4, 9, 1], [0.5, 0.2, 0.0])
    assert min_max(ranked(3, scores=(-0.2,))).scores.tolist() == [1.0]
    assert min_max(ranked(3, 5, scores=(2.0, 2.0)), weight=3).scores.tolist() == [3, 3]


def test_bm25_weighs_the_rarer_word_more_and_adds_up_several_texts():
    """All chunks have the mean length, so a word found once weighs idf / (1 + 1.5).

    idf(cat) = ln(1 + 3.5 / 1.5), idf(dog) = ln(1 + 2.5 / 2.5).
    """
    # Four chunks of two words; `dog` is in two of them, `cat` in one, `the` is a stop word.
    animals = Bm25.of(["red dog", "blue dog", "green cat", "blue bird"])
    result = bm25(Question("q", "Is the cat or the dog here?"), bm25=animals)
    assert result.ids.tolist() == [2, 0, 1]
    cat, dog = math.log(1 + 3.5 / 1.5) / 2.5, math.log(2) / 2.5
    np.testing.assert_allclose(result.scores, [cat, dog, dog], atol=1e-6)
    both = bm25(Question("q", "ignored"), Query(("blue", "bird")), bm25=animals)
    one = bm25(Question("q", "blue bird"), bm25=animals)
    assert both.ids.tolist() == one.ids.tolist() == [3, 1]
    np.testing.assert_allclose(both.scores, one.scores)


A, B, C = range(3)


def test_a_leaf_stands_for_its_chunk_and_a_summary_for_none():
    """Nodes 0 and 1 are leaves, 2 their summary."""
    tree = Graph.from_arrays([2, 2], [0, 1], node_chunk=[[1, 0], [0, 1], [0, 0]])
    rows = leaves(ranked(2, 1, 0, scores=(0.9, 0.8, 0.7)), graph=tree)
    assert rows.items() == [(1, 0.8), (0, 0.7)]


@pytest.fixture
def named():
    """A - B from chunk 0, B - C from 1 and 2, A - C from none; which chunks name each node."""
    return Graph.from_arrays(
        [A, B, A],
        [B, C, C],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 1]],
        relationship_chunk=[[1, 0, 0], [0, 1, 1], [0, 0, 0]],
    )


def test_each_row_brings_its_chunks_by_id_and_one_that_is_there_keeps_its_score(named):
    rows = ranked(1, 0, 1, scores=(0.9, 0.5, 0.4))
    assert fromrel(rows, graph=named).items() == [(1, 0.9), (2, 0.9), (0, 0.5)]
    assert fromrel(rows, graph=named, top_k=1).items() == [(1, 0.9)]
    nodes = ranked(C, A, scores=(0.9, 0.5))
    assert leaves(nodes, graph=named, top_k=None).items() == [(1, 0.9), (2, 0.9), (0, 0.5)]


def test_chunks_that_name_both_ends_count_once_for_each_row_and_ties_come_by_id(named):
    """Row 0: chunks 0 and 1; row 1: chunk 1 alone, since B is not in chunk 2."""
    assert occurrence(ranked(0, 1), graph=named, top_k=9).items() == [(1, 2.0), (0, 1.0)]
    assert occurrence(ranked(0, 0), graph=named, top_k=9).items() == [(0, 2.0), (1, 2.0)]
    assert occurrence(ranked(1, 0), graph=named, top_k=1).items() == [(1, 2.0)]


def test_each_entity_brings_its_chunks_by_how_many_neighbours_they_name(named):
    """C's: chunk 1 names A and B, chunk 2 neither. A's: chunk 0 names B, and 1 is there already."""
    by = {"graph": named, "scoring": "entity_order"}
    assert occurrence(ranked(0), ranked(C, A, C), **by, top_k=9).items() == [(1, 2), (2, 0), (0, 1)]
    assert occurrence(ranked(0), ranked(C, A), **by, top_k=2).items() == [(1, 2), (2, 0)]


def test_of_several_texts_the_best_score_counts():
    texts = ["a red dog", "a blue dog", "the green cat"]
    embedder = Hashing()
    index = VectorIndex(embedder.encode(texts, kind="passage"))
    library = {"chunk_index": index, "embedder": embedder}
    result = alone(vdb)(
        Question("q", ""), Query(("a red dog", "the green cat")), **library, top_k=3
    )
    assert result.ids.tolist() == [0, 2, 1]
    np.testing.assert_allclose(result.scores[:2], 1.0, atol=1e-6)


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
    reads = Question("q", "asked"), ranked(*nodes), ranked(*relationships), ranked(3)
    return alone(operator)(*reads, **ROOM, **settings).ids.tolist()


def test_chunks_of_nodes_and_rows_come_in_turn_behind_similar_ones_of_the_whole_corpus(monkeypatch):
    assert picked(similar, [A, B], [0, 1]) == [0, 2, 1, 3]
    monkeypatch.setattr(pick, "PER_ROW", 1)
    assert picked(similar, [A, B], [0]) == [0]
    # two rows with new chunks, 1 and 2, 3: 2 * 1 / 2 = 1 of these
    assert picked(similar, [A, B], [0, 1]) == [0, 2]
    monkeypatch.setattr(pick, "MIN_COSINE", 0.6)
    assert picked(similar_and_dense, [B], [], top_k=2) == [0, 2]
    assert picked(similar_and_dense, [B], [], top_k=4) == [0, 2]


CHUNKS = ChunkTable.of([("d0", "", "one two three"), ("d1", "", "one two"), ("d2", "", "one")])
"""Of 3, 2 and 1 tokens."""


@pytest.fixture
def channel():
    """Keyword 0 lies at 0 degrees and is in chunks 0 and 1, keyword 1 at 90 and in 1 and 2."""
    in_chunks = csr_matrix(np.array([[1, 1, 0], [0, 1, 1]], bool))
    graph = KeywordGraph(Texts.of(["a", "b"]), Texts.of(["a", "b"]), in_chunks[:, :2], in_chunks)
    return {
        "keyword_graph": graph,
        "keyword_index": at(0, 90),
        "chunk_index": at(60, 30, 0),
        "chunk_table": CHUNKS,
        "embedder": Planted(angle),
    }


def result(channel, text="0", **settings):
    return alone(by_keyword)(Question("q", text), **settings, **channel)


def test_chunks_of_keywords_are_ranked_by_similarity_among_those_that_the_pool_holds(channel):
    ranked = result(channel)
    check(ranked, [2, 1, 0], [1.0, 0.866025, 0.5])
    # Chunk 2 is the most similar one, but keyword 0 fills the pool.
    assert result(channel, pool=2).ids.tolist() == [1, 0]
    assert result(channel, n_keywords=1).ids.tolist() == [1, 0]
    # Keyword 0 hands in 5 tokens: of 4, chunk 1 (2) alone fits the pool. Of 6, chunk 2 too.
    assert result(channel, tokens=2).ids.tolist() == [1]
    assert result(channel, tokens=3).ids.tolist() == [2, 1]
    assert result(channel, tokens=6, pool=1, top_k=1).ids.tolist() == [2, 1, 0]
