"""Chunks picked by similarity of what was found, worked out by hand on four chunks."""

import numpy as np
from scipy.sparse import csr_matrix

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Question, Ranked
from operators.chunk_pick import none, similar, similar_and_dense

A, B, C = range(3)
COSINES = (0.9, 0.5, 0.7, 0.1)
"""Of the chunks 0 to 3 to the question."""


class Only:
    """The question's vector is the first axis."""

    identity, dimension = "only", 2

    def encode(self, texts, *, kind):
        return np.array([[1.0, 0.0]] * len(texts), np.float32)


INDEX = VectorIndex(np.array([[c, np.sqrt(1 - c * c)] for c in COSINES], np.float32))
GRAPH = Graph.from_arrays(
    source=[A, B],
    target=[B, C],
    node_chunk=[[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
    relationship_chunk=[[0, 1, 0, 0], [0, 0, 1, 1]],
)
ROOM = {"graph": GRAPH, "chunk_index": INDEX, "embedder": Only()}


def ranked(*ids: int) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.ones(len(ids)))


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


def test_without_any_chunk_the_given_ones_stay():
    assert picked(similar, [C], []) == [3]
    assert picked(similar_and_dense, [C], [], min_score=0.95) == [3]


def test_none_keeps_the_order_given_and_cuts_it():
    assert none(ranked(3, 1, 2), top_k=2).ids.tolist() == [3, 1]
    assert none(ranked(3, 1, 2)).ids.tolist() == [3, 1, 2]


def test_a_graph_may_hold_no_chunk_at_all():
    empty = Graph.from_arrays([A], [B], node_chunk=np.zeros((2, 4)))
    assert isinstance(empty.node_chunk, csr_matrix)
    given = Question("q", "asked"), ranked(A), ranked(0), ranked()
    assert not len(alone(similar)(*given, **{**ROOM, "graph": empty}))
