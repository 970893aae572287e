"""PathRAG's released code: specification 1.8, golden G3."""

import pytest

from graphrag_bench.graph.edge_flow_paths import edge_flow, edge_flow_paths
from graphrag_bench.graph.flow_kernels import Rules
from graphrag_bench.graph.flow_paths import Kept
from graphrag_bench.graph.graph import Graph

A, B, C, D, E, F = range(6)
SQUARES = Graph.from_arrays([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
TOLERANCE = 1e-6


def best(graph: Graph, *nodes: int, top_k: int = 15, **changes) -> dict[str, float]:
    """The paths of the released code: theta .3, one for each set of nodes, at most half of them."""
    ways = {"max_hops": 3, "direction": "both", "per_pair_top": None, "dedup": "node_set",
            "half": True, **changes}  # fmt: skip
    rules = Rules(0.8, 0.3, ways["max_hops"], False, False, False, True)
    kept = Kept(ways["per_pair_top"], ways["dedup"], top_k, at_most_half=ways["half"])
    found = edge_flow_paths(graph, nodes, rules, ways["direction"], kept)
    return {"".join("ABCDEF"[node] for node in path.nodes): path.score for path in found}


def test_flow_is_halved_where_paths_part_and_stops_at_the_threshold():
    flow = edge_flow([(A, B, D, E), (A, C, D, E), (A, C, F, E)], 0.8, 0.3)
    assert flow == {
        (A, B): 0.5,
        (A, C): 0.5,
        (B, D): pytest.approx(0.4),
        (C, D): pytest.approx(0.2),
        (C, F): pytest.approx(0.2),
        (D, E): pytest.approx(0.32),
    }


def test_no_path_is_pruned_and_the_better_direction_counts():
    assert best(SQUARES, A, E) == {
        "ABDE": pytest.approx(0.406667, abs=TOLERANCE),
        "EFCA": pytest.approx(0.406667, abs=TOLERANCE),
        "ACDE": pytest.approx(0.34, abs=TOLERANCE),
    }
    assert list(best(SQUARES, A, E)) == ["ABDE", "EFCA", "ACDE"]


def test_at_most_half_of_the_paths_of_each_length_are_kept():
    """Six ordered paths of three hops between A and E give three; one hop each way gives one."""
    assert len(best(SQUARES, A, E)) == 3
    assert len(best(SQUARES, A, E, top_k=2)) == 2
    assert best(Graph.from_arrays([A], [B]), A, B) == {"AB": 1.0}
    assert best(Graph.from_arrays([A, C], [B, D]), A, C) == best(SQUARES, A) == {}


def test_paths_over_the_same_nodes_are_one():
    """A-B-D, A-C-D, A-B-C-D, A-C-B-D and back: 4 of two hops, 4 of three, so that 4 may be kept."""
    diamond = Graph.from_arrays([A, A, B, B, C], [B, C, C, D, D])
    walks = best(diamond, A, D)
    assert len(walks) == len({"".join(sorted(walk)) for walk in walks}) == 3
    apart = best(diamond, A, D, dedup="reversal", half=False)
    assert list(apart) == ["ABD", "ACD", "ABCD", "ACBD"]


def test_without_the_bound_of_one_half_all_paths_are_kept_up_to_k():
    """One path of one hop between A and B, found both ways: half of two."""
    triangle = Graph.from_arrays([A, B, A], [B, C, C])
    assert list(best(triangle, A, B)) == ["AB", "ACB"]
    lone = Graph.from_arrays([A, C], [B, B])
    assert list(best(lone, A, B, direction="out")) == []
    assert best(lone, A, B, direction="out", half=False) == {"AB": 1.0}


def test_flow_follows_the_direction_and_the_length_that_are_asked_for():
    """Along A-B, A-C, B-D, C-D, D-E, C-F, F-E nothing leads from E to A."""
    assert list(best(SQUARES, A, E, direction="out", half=False)) == ["ABDE", "ACDE", "ACFE"]
    assert best(SQUARES, A, E, max_hops=2, half=False) == {}
    assert list(best(SQUARES, A, E, per_pair_top=1, half=False)) == ["ABDE", "EFCA"]


def test_flow_goes_on_beyond_three_hops_where_longer_paths_are_asked_for():
    """A line: 1, then .8 of what came at each hop; mean of 1, .8, .64, .512."""
    line = Graph.from_arrays([A, B, C, D], [B, C, D, E])
    assert best(line, A, E, max_hops=4, half=False) == {"ABCDE": pytest.approx(0.738)}
    assert best(line, A, E, max_hops=3, half=False) == {}
