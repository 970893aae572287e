"""Chunks by scores, by words and of rows, by hand."""

import math

import numpy as np
import pytest
from by_hand import alone, check, ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.indices.words import Bm25
from graphrag_bench.values import NodeScores, Path, Query, Question, RelationshipScores
from operators.chunk.of_graph import aggregator, frompaths, fromrel, leaves, occurrence
from operators.search import bm25, chunk_vdb, min_max

A, B, C, D = range(4)


def scores(*values: float) -> RelationshipScores:
    return RelationshipScores(np.array(values))


def test_a_chunk_scores_the_sum_of_its_relationships_or_of_its_nodes():
    """Relationship 0, of 0 and 1, is read from the chunks 0 and 1; 1, of 1 and 2, from chunk 1."""
    graph = Graph.from_arrays(
        [0, 1], [1, 2],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 0]],
        relationship_chunk=[[1, 1, 0], [0, 1, 0]],
    )  # fmt: skip
    check(aggregator(scores(0.8, 0.5), graph=graph), [1, 0], [1.3, 0.8])
    mass = NodeScores(np.array([0.5, 0.3, 0.2]))
    result = aggregator(scores(0.0, 0.0), mass, graph=graph, by="nodes")
    check(result, [1, 0], [1.0, 0.8])
    with pytest.raises(UserError, match="node_scores"):
        aggregator(scores(0.8, 0.5), graph=graph, by="nodes")


def test_scores_go_from_nothing_to_the_weight_and_keep_their_order():
    """12, 6 and 2 lie 10, 4 and 0 above the lowest."""
    result = min_max(ranked(4, 9, 1, scores=(12.0, 6.0, 2.0)), weight=0.5)
    check(result, [4, 9, 1], [0.5, 0.2, 0.0])
    assert min_max(ranked(3, scores=(-0.2,))).scores.tolist() == [1.0]
    assert min_max(ranked(3, 5, scores=(2.0, 2.0)), weight=3).scores.tolist() == [3, 3]


def test_bm25_weighs_the_rarer_word_more_and_adds_up_several_texts():
    """All chunks have the mean length, so a word found once weighs idf / (1 + 1.5).

    Four chunks of two words; `dog` is in two of them, `cat` in one, `the` is a stop word:
    idf(cat) = ln(1 + 3.5 / 1.5), idf(dog) = ln(1 + 2.5 / 2.5).
    """
    animals = Bm25.of(["red dog", "blue dog", "green cat", "blue bird"])
    result = bm25(Question("q", "Is the cat or the dog here?"), bm25=animals)
    cat, dog = math.log(1 + 3.5 / 1.5) / 2.5, math.log(2) / 2.5
    check(result, [2, 0, 1], [cat, dog, dog])
    both = bm25(Question("q", "ignored"), Query(("blue", "bird")), bm25=animals)
    one = bm25(Question("q", "blue bird"), bm25=animals)
    check(both, one.ids.tolist(), one.scores)
    assert one.ids.tolist() == [3, 1]


def test_of_several_texts_the_best_score_counts():
    embedder = Hashing()
    texts = ["a red dog", "a blue dog", "the green cat"]
    index = VectorIndex(embedder.encode(texts, kind="passage"))
    query = Query(("a red dog", "the green cat"))
    result = alone(chunk_vdb)(
        Question("q", ""), query, chunk_index=index, embedder=embedder, top_k=3
    )
    assert result.ids.tolist() == [0, 2, 1]
    np.testing.assert_allclose(result.scores[:2], 1.0, atol=1e-6)


@pytest.fixture
def named():
    """A - B from chunk 0, B - C from 1 and 2, A - C from none; which chunks name each node."""
    return Graph.from_arrays(
        [A, B, A], [B, C, C],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 1]],
        relationship_chunk=[[1, 0, 0], [0, 1, 1], [0, 0, 0]],
    )  # fmt: skip


def test_each_row_brings_its_chunks_by_id_and_one_that_is_there_keeps_its_score(named):
    rows = ranked(1, 0, 1, scores=(0.9, 0.5, 0.4))
    assert fromrel(rows, graph=named).items() == [(1, 0.9), (2, 0.9), (0, 0.5)]
    assert fromrel(rows, graph=named, top_k=1).items() == [(1, 0.9)]
    nodes = ranked(C, A, scores=(0.9, 0.5))
    assert leaves(nodes, graph=named, top_k=None).items() == [(1, 0.9), (2, 0.9), (0, 0.5)]
    # Nodes 0 and 1 are leaves, 2 their summary, which stands for no chunk.
    tree = Graph.from_arrays([2, 2], [0, 1], node_chunk=[[1, 0], [0, 1], [0, 0]])
    assert leaves(ranked(2, 1, 0, scores=(0.9, 0.8, 0.7)), graph=tree).items() == [
        (1, 0.8), (0, 0.7)
    ]  # fmt: skip


def test_paths_lead_to_the_chunks_that_their_relationships_were_read_from():
    """A-B twice, in chunks 2 and 0; B-C in chunk 1."""
    graph = Graph.from_arrays(
        [A, B, B], [B, A, C],
        node_chunk=np.ones((3, 3)), relationship_chunk=[[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    )  # fmt: skip
    paths = RankedPaths((Path((B, C), (2,), 0.9), Path((A, B), (0,), 0.4)))
    assert frompaths(paths, graph=graph).items() == [(1, 0.9), (0, 0.4), (2, 0.4)]
    assert frompaths(paths, graph=graph, unit="fact").ids.tolist() == [1, 2]
    assert frompaths(paths, graph=graph, top_k=2).ids.tolist() == [1, 0]


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
