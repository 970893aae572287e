"""PathRAG's released code: specification 1.8, golden G3."""

import pytest

from graphrag_bench.graph.edge_flow_paths import edge_flow, edge_flow_paths
from graphrag_bench.graph.graph import Graph

A, B, C, D, E, F = range(6)
SQUARES = Graph.from_arrays([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
TOLERANCE = 1e-6


def best(graph: Graph, *nodes: int, top_k: int = 15) -> dict[str, float]:
    found = edge_flow_paths(graph, nodes, alpha=0.8, threshold=0.3, top_k=top_k)
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
