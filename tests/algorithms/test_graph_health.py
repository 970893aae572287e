"""Health of a graph, counted by hand on a graph of six nodes."""

from dataclasses import replace

import numpy as np

from graphrag_bench.algorithms.graph import Graph, graph_health, hubs
from graphrag_bench.algorithms.name_dictionary import Merge

NODE_CHUNK = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
"""a and b share chunk 0, a and c chunk 1, d and f chunk 2; e is in none, and chunk 3 is empty."""


def graph() -> Graph:
    """a-b (twice), a-c, and the synonymy edge c-d; facts of chunk 0 and 1 only."""
    facts = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    own = Graph.from_arrays([0, 1, 0, 2], [1, 0, 2, 3], NODE_CHUNK, facts, names=[*"abcdef"])
    merges = (Merge("aa", "a", "acronym", "d1"),)
    return replace(own, synonym=np.array([False, False, False, True]), merges=merges)


def test_each_measure_is_counted() -> None:
    assert graph_health(graph()) == {
        "isolated nodes": (2, 6),  # e, f
        "nodes in one chunk": (4, 6),  # all but a and e
        "nodes in no chunk": (1, 6),
        "nodes in the largest part": (5, 6),  # f by chunk 2 of d
        "links of the largest hubs": (2, 6),  # a or c, of a2 b1 c2 d1
        "merged names": (1, 7),
        "chunks without nodes": (1, 4),
        "chunks without facts": (2, 4),  # a synonymy edge is no fact
    }


def test_chunks_are_links_in_a_graph_without_relationships() -> None:
    names = Graph.from_arrays([], [], NODE_CHUNK, names=[*"abcdef"])
    assert hubs(names)[:2] == [("a", 2), ("b", 1)] and hubs(graph())[:2] == [("a", 2), ("c", 2)]
    measured = graph_health(names)
    assert (measured["isolated nodes"], measured["chunks without facts"]) == ((1, 6), (4, 4))
    assert measured["nodes in the largest part"] == (3, 6)


def test_a_graph_without_nodes_or_chunks_has_zeros() -> None:
    measured = graph_health(Graph.from_arrays([], [], n_nodes=2))
    assert measured["isolated nodes"] == (2, 2) and measured["chunks without nodes"] == (0, 0)
    assert {n for n, _ in graph_health(Graph.from_arrays([], [])).values()} == {0}
