"""PathRAG's flow and paths, by the paper and by the release, against a slow reference."""

from itertools import permutations

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import Ranked
from methods.pathrag.paths import edge_flow, flow_prune

A, B, C, D, E, F = range(6)
EDGES = ([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
SQUARES = Graph.from_arrays(*EDGES)


def named(graph: Graph, nodes, **settings) -> dict[str, float]:
    given = Ranked.of(dict.fromkeys(nodes, 1.0))
    paths = flow_prune(given, graph=graph, **{"theta": 0.05, "top_k": 10_000, **settings}).paths
    return {"".join("ABCDEFGHI"[node] for node in path.nodes): path.score for path in paths}


def test_paths_of_all_pairs_and_their_selection():
    """Of two paths with the fewest hops one is ABD or ACD, by chance."""
    best = named(SQUARES, [A, D, E])
    scores = [27 / 20, *[373 / 480] * 2, *[11533 / 21600] * 3]
    expected = dict(zip(["ED", "ABD", "ACD", "ABDE", "ACDE", "EFCA"], scores, strict=True))
    assert best == pytest.approx(expected, abs=1e-6)
    drawn, tied = (
        [tuple(named(SQUARES, [A, D, E], seed=seed, **settings)) for seed in range(10)]
        for settings in ({"select": "random", "top_k": 3}, {"select": "hop_first", "top_k": 2})
    )
    assert {*tied} == {("ED", "ABD"), ("ED", "ACD")}
    best = list(best)
    assert all(list(one) == sorted(one, key=best.index) and len(one) == 3 for one in drawn)
    assert len(set(drawn)) > 3


SLACK = 1e-12


def near_of(graph, *, outward):
    view = graph.out_neighbours if outward else graph.neighbours
    parts = zip(view.starts[:-1], view.starts[1:], strict=True)
    return {node: view.nodes[first:end].tolist() for node, (first, end) in enumerate(parts)}


def flow(near, start, end, alpha, theta, max_hops, expand_target):
    """Return the resource of each node that is reached, and the nodes that passed it on."""
    resource, expanded, frontier = {start: 1.0}, set(), [start]
    for _ in range(max_hops):
        pending = {}
        for node in frontier:
            if (node == end and not expand_target) or not near[node]:
                continue
            share = resource[node] / len(near[node])
            if share < theta - SLACK and node != start:
                continue
            expanded.add(node)
            for other in near[node]:
                if other not in resource:
                    pending[other] = pending.get(other, 0.0) + alpha * share
        resource.update(pending)
        frontier = list(pending)
    return resource, expanded


def flow_paths(
    near, nodes, *, alpha, theta, max_hops, expand_target=False, count_start=True, node_set=False
):
    """Return the distinct paths over expanded nodes between the nodes, most reliable first."""
    every, network = [], networkx.DiGraph(near)
    for start, end in permutations(sorted(set(nodes)), 2):
        resource, expanded = flow(near, start, end, alpha, theta, max_hops, expand_target)
        for walk in map(tuple, networkx.all_simple_paths(network, start, end, max_hops)):
            if set(walk[:-1]) <= expanded:
                total = sum(resource[node] for node in walk[0 if count_start else 1 :])
                every.append((walk, round(total / (len(walk) - 1), 6)))
    every.sort(key=lambda one: (-one[1], len(one[0]), lower(one[0]), one[0] != lower(one[0])))
    first = {}
    for walk, score in every:
        first.setdefault(tuple(sorted(walk)) if node_set else lower(walk), (walk, score))
    return list(first.values())


def lower(walk):
    return min(walk, walk[::-1])


graphs = st.integers(2, 9).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24).map(
        lambda rows: Graph.from_arrays([a for a, _ in rows], [b for _, b in rows], n_nodes=n)
    )
)
thetas = st.sampled_from([0.0, 0.01, 0.03, 0.05, 0.1, 0.3])


@settings(max_examples=50)
@given(
    graph=graphs, theta=thetas, hops=st.integers(1, 5), out=st.booleans(),
    expand=st.booleans(), count_start=st.booleans(), node_set=st.booleans(),
    top_k=st.sampled_from([1, 3, 15, 10_000]),
)  # fmt: skip
def test_paths_equal_those_of_the_definition(
    graph, theta, hops, out, expand, count_start, node_set, top_k
):
    nodes = list(range(0, graph.n_nodes, 2)) + [1]
    slow = flow_paths(
        near_of(graph, outward=out), nodes, alpha=0.7, theta=theta, max_hops=hops,
        expand_target=expand, count_start=count_start, node_set=node_set,
    )  # fmt: skip
    fast = named(
        graph, nodes, theta=theta, max_hops=hops, expand_target=expand, top_k=top_k,
        reliability="node_sum" if count_start else "exclude_start",
        direction="out" if out else "both", dedup="node_set" if node_set else "reversal",
    )  # fmt: skip
    assert list(fast) == ["".join("ABCDEFGHI"[node] for node in nodes) for nodes, _ in slow[:top_k]]
    scores = [score for _, score in slow[:top_k]]  # sums in another order may round otherwise
    assert list(fast.values()) == pytest.approx(scores, abs=1.1e-6)


def best_by_edges(graph: Graph, *nodes: int, top_k: int = 15, **changes) -> dict[str, float]:
    """Return the released code's paths: theta .3, one for each set of nodes, at most half."""
    code = {"dedup": "node_set", "at_most_half": True, "alpha": 0.8, "theta": 0.3, "top_k": top_k}
    return named(graph, nodes, reliability="edge_flow", **{**code, **changes})


def test_edge_flow_splits_and_stops_at_the_threshold():
    flow = edge_flow([(A, B, D, E), (A, C, D, E), (A, C, F, E)], 0.8, 0.3)
    expected = {(A, B): 0.5, (A, C): 0.5, (B, D): 0.4, (C, D): 0.2, (C, F): 0.2, (D, E): 0.32}
    assert flow == pytest.approx(expected)


def test_at_most_half_of_the_paths_of_each_length_are_kept():
    """Six ordered paths of three hops between A and E give three; one hop each way gives one."""
    assert len(best_by_edges(SQUARES, A, E)) == 3
    assert len(best_by_edges(SQUARES, A, E, top_k=2)) == 2
    assert best_by_edges(Graph.from_arrays([A], [B]), A, B) == {"AB": 1.0}
    assert best_by_edges(Graph.from_arrays([A, C], [B, D]), A, C) == best_by_edges(SQUARES, A) == {}
