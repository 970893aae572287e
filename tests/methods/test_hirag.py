"""HiRAG's key entities and bridge by hand, on six nodes."""

import numpy as np
from by_hand import ranked

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import cells
from methods.hirag.layered_graph import bridge, key

A, B, C, D, E, ALONE = range(6)


def two_communities() -> Communities:
    """Community 0 holds A, B and E, community 1 holds B, C and D."""
    members = [(0, A), (0, B), (0, E), (1, B), (1, C), (1, D)]
    rows, nodes = np.array(members, np.int64).T
    membership = cells(rows, nodes, (2, 6))
    return Communities(np.zeros(2, np.int64), np.full(2, -1), membership, membership[:, :1])


def test_each_community_gives_its_best_nodes_in_the_order_of_the_communities() -> None:
    """Community 1 first: D and B; then community 0, whose E is above its A, and B is there."""
    nodes = ranked(D, E, B, A, scores=(1.0, 0.9, 0.8, 0.7))
    result = key(nodes, ranked(1, 0), communities=two_communities(), per_community=2)
    assert result.items() == [(D, 1.0), (B, 0.8), (E, 0.9)]


def test_the_way_leads_through_every_node_and_its_rows_come_by_degree_then_weight() -> None:
    """A to D is two hops over E, and from D back to B two over C, the lower of C and E."""
    # A - B - C - D, a way from A to D over E as well, B and E joined by a heavier row.
    graph = Graph.from_arrays(
        [A, B, C, A, E, B], [B, C, D, E, D, E], weight=[1, 1, 1, 1, 1, 5], n_nodes=6
    )
    _, way = bridge(ranked(A, D, B), graph=graph)
    assert [path.nodes for path in way.paths] == [(A, E, D, C, B)]
    assert way.paths[0].relationships == (3, 4, 2, 1)
    # Degrees: A 2, B 3, C 2, D 2, E 3. B-E has 6; A-B, B-C, A-E, E-D have 5; C-D has 4.
    result, _ = bridge(ranked(A, D, B), graph=graph)
    assert result.items() == [(5, 6.0), (0, 5.0), (1, 5.0), (3, 5.0), (4, 5.0), (2, 4.0)]
    _, way = bridge(ranked(A, ALONE, B), graph=graph)
    assert [path.nodes for path in way.paths] == [(A,), (ALONE,), (B,)]
