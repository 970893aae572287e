"""PathRAG's flow and paths: specification 1.4, 1.5, goldens G1 and G2, and the slow reference."""

from fractions import Fraction

import numpy as np
import pytest
import slow_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.graph.flow_kernels import Flow, Rules, Ways, flow_from, wanted_neighbours
from graphrag_bench.graph.flow_paths import Kept, alive, flow_paths
from graphrag_bench.graph.graph import Graph

A, B, C, D, E, F = range(6)
EDGES = ([A, A, B, C, D, C, F], [B, C, D, D, E, F, E])
SQUARES = Graph.from_arrays(*EDGES)
HUB = Graph.from_arrays([*EDGES[0], *[C] * 5], [*EDGES[1], *range(6, 11)])
TOLERANCE = 1e-6


def rules(theta: float = 0.05, **changes) -> Rules:
    base = Rules(0.7, theta, 3, False, False, False, True)
    return base._replace(**changes)


def best(graph: Graph, nodes, given: Rules, *, top_k=None, **ways):
    ways = {"direction": "both", "per_pair_top": None, "dedup": "reversal", **ways}
    kept = Kept(ways["per_pair_top"], ways["dedup"], top_k)
    return flow_paths(graph, nodes, given, ways["direction"], kept)


def named(graph: Graph, nodes, given: Rules, **ways) -> dict[str, float]:
    paths = best(graph, nodes, given, **ways)
    return {"".join("ABCDEF"[node] for node in path.nodes): path.score for path in paths}


def flow(graph: Graph, start: int, end: int, given: Rules, *, outward: bool = False) -> Flow:
    view = graph.outward if outward else graph.neighbours
    n = graph.n_nodes
    state = Flow(np.full(n, -1, np.int8), np.zeros(n), np.zeros(n, bool), np.zeros(n, np.int32))
    wanted = np.array([end], np.int32)
    ways = Ways(view.starts, view.nodes, *wanted_neighbours(view.starts, view.nodes, wanted, n))
    flow_from(ways, start, end, given, state)
    return state


def one_way(graph: Graph, start: int, end: int, given: Rules, direction="both"):
    """The alive paths of one ordered pair with their scores."""
    found = alive(graph, [start, end], given, direction)
    walks = [tuple(node for node in row if node >= 0) for row in found.nodes.tolist()]
    scored = dict(zip(walks, found.scores.tolist(), strict=True))
    return {walk: scored[walk] for walk in sorted(scored) if walk[0] == start}


def close(*fractions) -> object:
    return pytest.approx([float(Fraction(one)) for one in fractions], abs=TOLERANCE)


# ---- G1


@pytest.mark.parametrize(
    ("start", "end", "resource", "expanded"),
    [
        (A, E, ("1", "7/20", "7/20", "49/240", "343/7200", "49/600"), "ABCD"),
        (E, A, ("343/7200", "49/600", "49/240", "7/20", "1", "7/20"), "CDEF"),
        (A, D, ("1", "7/20", "7/20", "49/240", "0", "49/600"), "ABC"),
        (D, E, ("49/360", "7/30", "7/30", "1", "7/30", "49/900"), "ABCD"),
        (E, D, ("0", "0", "49/400", "7/20", "1", "7/20"), "EF"),
    ],
)
def test_resource_flows_from_the_start_and_not_on_from_the_end(start, end, resource, expanded):
    state = flow(SQUARES, start, end, rules())
    assert state.resource == close(*resource)
    assert [name for name, sent in zip("ABCDEF", state.expanded, strict=True) if sent] == sorted(
        expanded
    )


def test_a_pruned_node_keeps_its_resource_but_nothing_goes_through_it():
    state = flow(SQUARES, D, A, rules())
    assert state.resource == close("49/360", "7/30", "7/30", "1", "7/30", "49/360")
    assert not state.expanded[A] and state.expanded[F]


def test_the_two_directions_of_a_pair_have_different_survivors():
    found = named(SQUARES, [A, E], rules())
    assert list(found) == ["ABDE", "ACDE", "EFCA"]
    assert list(found.values()) == close(*["11533/21600"] * 3)


def test_all_pairs_of_three_nodes_merged_up_to_reversal():
    found = named(SQUARES, [A, D, E], rules())
    assert list(found) == ["ED", "ABD", "ACD", "ABDE", "ACDE", "EFCA"]
    assert list(found.values()) == close(
        "27/20", "373/480", "373/480", "11533/21600", "11533/21600", "11533/21600"
    )
    assert list(named(SQUARES, [A, D, E], rules(), top_k=3)) == ["ED", "ABD", "ACD"]


def test_without_the_start_a_path_is_worth_what_flowed_along_it():
    found = named(SQUARES, [A, D, E], rules(count_start=False))
    assert found["ED"] == pytest.approx(0.35, abs=TOLERANCE)
    assert found["ABD"] == pytest.approx(0.277083, abs=TOLERANCE)
    assert found["ABDE"] == pytest.approx(0.200602, abs=TOLERANCE)


def test_with_a_low_threshold_nothing_is_pruned():
    state = flow(SQUARES, A, E, rules(0.01))
    assert state.resource[E] == pytest.approx(343 / 4500, abs=TOLERANCE)
    assert one_way(SQUARES, A, E, rules(0.01)) == {
        (A, B, D, E): pytest.approx(0.543463, abs=TOLERANCE),
        (A, C, D, E): pytest.approx(0.543463, abs=TOLERANCE),
        (A, C, F, E): pytest.approx(13571 / 27000, abs=TOLERANCE),
    }


def test_along_the_direction_of_the_relationships_nothing_comes_back():
    state = flow(SQUARES, A, E, rules(), outward=True)
    assert state.resource == close("1", "7/20", "7/20", "147/400", "343/1000", "49/400")
    found = named(SQUARES, [A, E], rules(), direction="out")
    assert list(found) == ["ABDE", "ACDE", "ACFE"]
    assert list(found.values()) == close("4121/6000", "4121/6000", "3631/6000")


# ---- G2


def test_a_hub_dilutes_what_flows_through_it():
    assert flow(HUB, A, E, rules(0.0)).resource[[D, F, E]] == close(
        "49/320", "49/1600", "4459/96000"
    )
    assert flow(HUB, A, E, rules(0.04)).resource[[D, F, E]] == close(
        "49/320", "49/1600", "343/9600"
    )
    assert flow(HUB, A, E, rules(0.05)).resource[[D, F, E]] == close("49/400", "0", "0")


def test_the_threshold_prunes_the_hub_and_with_it_every_path():
    assert named(HUB, [A, E], rules(0.04)) == {
        "ABDE": pytest.approx(14773 / 28800, abs=TOLERANCE),
        "ACDE": pytest.approx(14773 / 28800, abs=TOLERANCE),
    }
    assert flow(HUB, E, A, rules(0.04)).resource[[B, C, A]] == close(
        "49/600", "49/240", "343/12000"
    )
    assert named(HUB, [A, E], rules(0.05)) == {}


def test_without_a_threshold_the_weak_branch_ends_a_path_too():
    assert one_way(HUB, A, E, rules(0.0)) == {
        (A, B, D, E): pytest.approx(148759 / 288000, abs=TOLERANCE),
        (A, C, D, E): pytest.approx(148759 / 288000, abs=TOLERANCE),
        (A, C, F, E): pytest.approx(136999 / 288000, abs=TOLERANCE),
    }


def test_one_branch_is_left_where_the_other_lies_below_the_threshold():
    (walk, score), *others = one_way(HUB, E, A, rules(0.04)).items()
    assert (walk, others) == ((E, D, B, A), [])
    assert score == pytest.approx(1947 / 4000, abs=TOLERANCE)


# ---- rows, ties, settings


def test_every_hop_is_the_first_row_of_its_pair():
    parallel = Graph.from_arrays([A, B, A, B], [B, A, B, C])
    (path,) = best(parallel, [A, C], rules(0.0))
    assert (path.nodes, path.relationships) == ((A, B, C), (0, 3))


def test_as_many_paths_of_a_pair_are_kept_as_asked_for():
    assert list(named(SQUARES, [A, D], rules(), per_pair_top=1)) == ["ABD"]
    assert list(named(SQUARES, [A, D], rules())) == ["ABD", "ACD"]


def test_paths_over_the_same_nodes_can_count_as_one():
    diamond = Graph.from_arrays([A, A, B, B, C], [B, C, C, D, D])
    walks = named(diamond, [A, D], rules(0.0))
    assert {"ABCD", "ACBD"} <= set(walks)
    merged = named(diamond, [A, D], rules(0.0), dedup="node_set")
    assert len(merged) == len(walks) - 1


def test_rising_paths_are_shortest_paths():
    diamond = Graph.from_arrays([A, A, B, B, C], [B, C, C, D, D])
    assert list(named(diamond, [A, D], rules(0.0, rising=True))) == ["ABD", "ACD"]


def test_nodes_given_twice_apart_or_alone_give_no_path():
    apart = Graph.from_arrays([A, C], [B, D])
    assert best(apart, [A, A], rules()) == best(apart, [A, C], rules()) == []
    assert best(apart, [], rules()) == best(Graph.from_arrays([], [], n_nodes=2), [0, 1], rules())


# ---- the slow reference, and what must hold on any graph

graphs = st.integers(2, 9).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24).map(
        lambda rows: Graph.from_arrays([a for a, _ in rows], [b for _, b in rows], n_nodes=n)
    )
)
thetas = st.sampled_from([0.0, 0.01, 0.03, 0.05, 0.1, 0.3])


@settings(max_examples=150, deadline=None)
@given(
    graph=graphs, theta=thetas, hops=st.integers(1, 5), out=st.booleans(),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    per_pair_top=st.sampled_from([None, 1, 2]), top_k=st.sampled_from([None, 1, 3, 15]),
)  # fmt: skip
def test_the_paths_are_those_of_the_definition(graph, theta, hops, out, flags, per_pair_top, top_k):
    on_start, expand, rising, count_start, node_set = flags
    nodes = list(range(0, graph.n_nodes, 2)) + [1]
    slow = slow_paths.flow_paths(
        slow_paths.Lazy(graph, outward=out), nodes, alpha=0.7, theta=theta, max_hops=hops,
        theta_on_start=on_start, expand_target=expand, rising=rising, count_start=count_start,
        per_pair_top=per_pair_top, node_set=node_set,
    )  # fmt: skip
    fast = best(
        graph, nodes, Rules(0.7, theta, hops, on_start, expand, rising, count_start),
        direction="out" if out else "both", per_pair_top=per_pair_top,
        dedup="node_set" if node_set else "reversal", top_k=top_k,
    )  # fmt: skip
    assert [path.nodes for path in fast] == [nodes for nodes, _ in slow[:top_k]]
    scores = [score for _, score in slow[:top_k]]  # sums in another order may round otherwise
    assert [path.score for path in fast] == pytest.approx(scores, abs=1.1e-6)


@settings(max_examples=50, deadline=None)
@given(graph=graphs, theta=thetas, start=st.integers(0, 1), hops=st.integers(1, 5))
def test_a_level_holds_at_most_what_the_decay_leaves(graph, theta, start, hops):
    state = flow(graph, start, 1 - start, rules(theta, max_hops=hops))
    for level in range(1, hops + 1):
        assert state.resource[state.level == level].sum() <= 0.7**level + TOLERANCE


@settings(max_examples=50, deadline=None)
@given(graph=graphs, low=thetas, high=thetas)
def test_up_to_three_hops_a_higher_threshold_only_removes_paths(graph, low, high):
    low, high = sorted((low, high))
    nodes = range(graph.n_nodes)
    few = {path.nodes for path in best(graph, nodes, rules(high), dedup="reversal")}
    many = {path.nodes for path in best(graph, nodes, rules(low), dedup="reversal")}
    assert {slow_paths.lower(walk) for walk in few} <= {slow_paths.lower(walk) for walk in many}


def test_with_four_hops_a_higher_threshold_may_open_a_path():
    """A node reached first through a pruned hub is not reached again: A u z y x B and 28 leaves."""
    a, u, z, y, x, b = range(6)
    leaves = list(range(6, 34))
    web = Graph.from_arrays([a, a, z, y, u, x, *[u] * 28], [u, z, y, x, x, b, *leaves])
    found = {
        theta: flow(web, a, b, rules(theta, max_hops=4)).resource[x] for theta in (0.005, 0.013)
    }
    assert found[0.005] == pytest.approx(0.008167, abs=TOLERANCE)
    assert found[0.013] == pytest.approx(0.042875, abs=TOLERANCE)
    assert list(one_way(web, a, b, rules(0.005, max_hops=4))) == []
    assert list(one_way(web, a, b, rules(0.013, max_hops=4))) == [(a, z, y, x, b)]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_on_a_ring_both_directions_of_a_pair_score_alike(size):
    ring = Graph.from_arrays(range(size), [(node + 1) % size for node in range(size)])
    for end in range(1, size):
        forth, back = one_way(ring, 0, end, rules(0.01)), one_way(ring, end, 0, rules(0.01))
        assert {walk[::-1]: pytest.approx(score) for walk, score in forth.items()} == back
