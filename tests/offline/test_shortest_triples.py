"""Triples on shortest paths, by hand and against every shortest path of networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.offline.triple_examples import on_shortest_paths


def rows(triples: list[tuple[int, int]], starts: list[int], ends: list[int]) -> list[int]:
    source, target = np.array(triples, np.int64).reshape(-1, 2).T
    return np.flatnonzero(on_shortest_paths(source, target, 6, starts, ends)).tolist()


def test_all_shortest_paths_count_parallel_triples_too():
    """0 to 3 by 1 or by 2; a second triple from 0 to 1; a detour by 4."""
    triples = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 1), (0, 4), (4, 1)]
    assert rows(triples, [0], [3]) == [0, 1, 2, 3, 4]


def test_the_shorter_of_both_directions_counts_and_both_when_equal():
    assert rows([(0, 1), (1, 2), (2, 0)], [0], [2]) == [2]
    assert rows([(0, 1), (1, 0)], [0], [1]) == [0, 1]


def test_each_pair_of_a_start_and_an_end_has_paths_of_its_own():
    assert rows([(0, 1), (1, 2), (3, 2)], [0, 3], [2]) == [0, 1, 2]


@pytest.mark.parametrize(("starts", "ends"), [([0], [5]), ([0], [0]), ([], [1]), ([0], [])])
def test_nothing_lies_between_what_is_not_joined(starts: list[int], ends: list[int]):
    assert rows([(0, 1), (1, 2)], starts, ends) == []


node = st.integers(0, 5)


@given(st.lists(st.tuples(node, node), max_size=14), st.sets(node), st.sets(node))
def test_it_is_what_a_list_of_all_shortest_paths_holds(
    triples: list[tuple[int, int]], starts: set[int], ends: set[int]
) -> None:
    graph = networkx.DiGraph(triples)
    graph.add_nodes_from(range(6))
    wanted: set[tuple[int, int]] = set()
    for start in starts:
        for end in ends - {start}:
            ways = []
            for first, last in ((start, end), (end, start)):
                if networkx.has_path(graph, first, last):
                    ways += list(networkx.all_shortest_paths(graph, first, last))
            shortest = min(map(len, ways), default=0)
            for way in ways:
                if len(way) == shortest:
                    wanted |= set(zip(way, way[1:], strict=False))
    found = {triples[row] for row in rows(triples, sorted(starts), sorted(ends))}
    assert found == wanted
