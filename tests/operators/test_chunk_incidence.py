"""Chunks of relationships and nodes, worked out by hand and by dicts and lists."""

from itertools import pairwise

import numpy as np
import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import Ranked
from operators.chunk import fromrel, leaves, occurrence

A, B, C = range(3)


def ranked(*ids: int, scores: tuple[float, ...] = ()) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.array(scores or [1.0] * len(ids)))


@pytest.fixture
def graph():
    """A is in the chunks 1 and 2, B in 2 and 3, C in 2; A - B is read from 3, 2, A - C from 2, 0.

    Row 2 is a synonymy edge of B and C, without a chunk.
    """
    return Graph.from_arrays(
        [A, A, B],
        [B, C, C],
        node_chunk=[[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 0]],
        relationship_chunk=[[0, 0, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]],
    )


# ---- chunk.fromrel


def test_chunks_come_in_the_order_of_the_relationships_then_by_id(graph):
    assert fromrel(ranked(0, 1), graph=graph).ids.tolist() == [2, 3, 0]
    assert fromrel(ranked(1, 0), graph=graph).ids.tolist() == [0, 2, 3]


def test_a_chunk_has_the_score_of_its_first_relationship(graph):
    found = fromrel(ranked(1, 0, scores=(0.9, 0.4)), graph=graph)
    assert found.scores.tolist() == [0.9, 0.9, 0.4]


def test_a_synonymy_edge_has_no_chunk(graph):
    assert len(fromrel(ranked(2), graph=graph)) == 0


def test_the_list_is_cut_from_behind(graph):
    assert fromrel(ranked(0, 1), graph=graph, top_k=2).ids.tolist() == [2, 3]


# ---- chunk.occurrence


def test_a_chunk_counts_the_relationships_whose_ends_both_occur_in_it(graph):
    """A and B meet in chunk 2 alone, and so do A and C; 1 and 3 hold one of them only."""
    found = occurrence(ranked(0, 1), graph=graph)
    assert found.ids.tolist() == [2]
    assert found.scores.tolist() == [2.0]


def test_where_a_relationship_was_read_does_not_count(graph):
    assert occurrence(ranked(0), graph=graph).ids.tolist() == [2]


def test_a_relationship_without_a_common_chunk_counts_nowhere():
    apart = Graph.from_arrays([A], [B], node_chunk=[[1, 0], [0, 1]])
    assert len(occurrence(ranked(0), graph=apart)) == 0


def test_equal_counts_come_by_lower_id():
    graph = Graph.from_arrays(
        [A, A], [B, C], node_chunk=[[1, 1, 1], [1, 0, 1], [0, 1, 1]]
    )  # chunks 0: A B, 1: A C, 2: all
    found = occurrence(ranked(1, 0), graph=graph)
    assert found.ids.tolist() == [2, 0, 1]
    assert found.scores.tolist() == [2.0, 1.0, 1.0]
    assert occurrence(ranked(1, 0), graph=graph, top_k=1).ids.tolist() == [2]


def test_by_entities_the_chunks_of_the_first_node_come_first(graph):
    """B's chunks are 2, with both its neighbours, and 3, with none; then A's chunk 1."""
    found = occurrence(ranked(0), ranked(B, A), graph=graph, scoring="entity_order")
    assert found.ids.tolist() == [2, 3, 1]
    assert found.scores.tolist() == [2.0, 0.0, 0.0]


def test_by_entities_the_list_is_cut_from_behind(graph):
    found = occurrence(ranked(0), ranked(A, B), graph=graph, scoring="entity_order", top_k=2)
    assert found.ids.tolist() == [2, 1]


def test_by_entities_the_step_must_use_the_nodes(graph):
    with pytest.raises(UserError, match="use: \\[nodes\\]"):
        occurrence(ranked(0), graph=graph, scoring="entity_order")


# ---- chunk.leaves


def test_a_leaf_stands_for_its_chunk_and_a_summary_for_none():
    """Nodes 0 and 1 are leaves, 2 their summary."""
    tree = Graph.from_arrays([2, 2], [0, 1], node_chunk=[[1, 0], [0, 1], [0, 0]])
    found = leaves(ranked(2, 1, 0, scores=(0.9, 0.8, 0.7)), graph=tree)
    assert found.ids.tolist() == [1, 0]
    assert found.scores.tolist() == [0.8, 0.7]


def test_an_entity_stands_for_every_chunk_that_names_it_each_once(graph):
    assert leaves(ranked(B, A), graph=graph).ids.tolist() == [2, 3, 1]
    assert leaves(ranked(B, A), graph=graph, top_k=1).ids.tolist() == [2]


# ---- against dicts and lists, on random graphs

N_NODES, N_ROWS, N_CHUNKS = 40, 150, 70
INDEX = [np.int32, np.int64]


def made_up(seed: int, index: type, shuffled: bool = False, weighted: bool = False) -> Graph:
    """A graph with hubs, self-loops and empty rows; cells in ascending or in random order."""
    chance = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, N_NODES + 1)
    source, target = chance.choice(N_NODES, (2, N_ROWS), p=odds / odds.sum())
    graph = Graph.from_arrays(
        source,
        target,
        node_chunk=chance.random((N_NODES, N_CHUNKS)) < 0.9 * chance.random((N_NODES, 1)) ** 3,
        relationship_chunk=chance.random((N_ROWS, N_CHUNKS)) < 0.03,
        n_nodes=N_NODES,
    )
    if weighted:
        vars(graph)["node_chunk"] = graph.node_chunk.astype(np.int64)
        graph.node_chunk.data[:] = chance.integers(1, 9, graph.node_chunk.nnz)
    for matrix in (graph.node_chunk, graph.relationship_chunk):
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        if shuffled:
            for begin, end in pairwise(matrix.indptr.tolist()):
                order = begin + chance.permutation(end - begin)
                matrix.indices[begin:end] = matrix.indices[order]
                matrix.data[begin:end] = matrix.data[order]
            matrix.has_sorted_indices = False
    return graph


def some(seed: int, n: int) -> Ranked:
    """Rows of which some are given twice, with falling scores."""
    return Ranked(np.random.default_rng(seed).integers(n, size=60), np.linspace(1.0, 0.2, 60))


def cells_of(matrix, row: int) -> dict[int, int]:
    return {chunk: int(w) for chunk, w in enumerate(matrix[row].toarray()[0].tolist()) if w}


def cases() -> list[tuple[int, type, bool, bool]]:
    return [(2 * s + (i is np.int64), i, u, w) for s in range(3) for i in INDEX
            for u in (False, True) for w in (False, True)]  # fmt: skip


@pytest.mark.parametrize("top_k", [1, 7, None])
@pytest.mark.parametrize(("seed", "index", "shuffled", "weighted"), cases())
def test_fromrel_and_leaves_are_those_of_dicts(seed, index, shuffled, weighted, top_k):
    graph = made_up(seed, index, shuffled, weighted)
    for function, matrix in ((fromrel, graph.relationship_chunk), (leaves, graph.node_chunk)):
        given = some(seed, matrix.shape[0])
        expected: dict[int, float] = {}
        for row, score in given.items():
            for chunk in sorted(cells_of(matrix, row)):
                expected.setdefault(chunk, score)
        assert function(given, graph=graph, top_k=top_k).items() == list(expected.items())[:top_k]


@pytest.mark.parametrize("top_k", [1, 7, N_CHUNKS])
@pytest.mark.parametrize(("seed", "index", "shuffled", "weighted"), cases())
def test_occurrence_is_that_of_dicts(seed, index, shuffled, weighted, top_k):
    graph = made_up(seed, index, shuffled, weighted)
    given = some(seed, N_ROWS)
    counts: dict[int, float] = {}
    for row in given.ids.tolist():
        head = cells_of(graph.node_chunk, int(graph.source[row]))
        tail = cells_of(graph.node_chunk, int(graph.target[row]))
        for chunk in head.keys() & tail.keys():
            counts[chunk] = counts.get(chunk, 0.0) + head[chunk] * tail[chunk]
    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top_k]
    assert len(counts) > 32, "the table of counts must have grown"
    assert occurrence(given, graph=graph, top_k=top_k).items() == expected


@pytest.mark.parametrize("top_k", [1, 30, N_CHUNKS])
@pytest.mark.parametrize(("seed", "index", "shuffled", "weighted"), cases())
def test_occurrence_by_entities_is_that_of_dicts(seed, index, shuffled, weighted, top_k):
    graph = made_up(seed, index, shuffled, weighted)
    nodes = some(seed, N_NODES)
    expected: dict[int, float] = {}
    for node in dict.fromkeys(nodes.ids.tolist()):
        near = [cells_of(graph.node_chunk, other) for other in cells_of(graph.adjacency, node)]
        named = {
            chunk: float(sum(cells.get(chunk, 0) for cells in near))
            for chunk in cells_of(graph.node_chunk, node)
            if chunk not in expected
        }
        expected.update(sorted(named.items(), key=lambda item: (-item[1], item[0])))
    rows = some(0, N_ROWS)
    found = occurrence(rows, nodes, graph=graph, scoring="entity_order", top_k=top_k)
    assert found.items() == list(expected.items())[:top_k]
