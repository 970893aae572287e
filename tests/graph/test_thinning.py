"""Graphs with a share of their edges taken out."""

from __future__ import annotations

import numpy as np

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.thinning import thinned


def ring(n: int) -> Graph:
    """A ring of nodes whose edges each stand in two rows, one in each direction."""
    ends = np.arange(n)
    beyond = (ends + 1) % n
    return Graph.from_arrays(source=[*ends, *beyond], target=[*beyond, *ends], n_nodes=n)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.pairs.source.tolist(), graph.pairs.target.tolist(), strict=True))


def test_a_share_of_the_edges_is_gone_with_all_their_rows_and_every_node_stays() -> None:
    half = thinned(ring(10), edge_drop=0.5)
    assert (half.n_nodes, half.n_relationships, len(pairs(half))) == (10, 10, 5)


def test_a_larger_share_drops_those_of_a_smaller_one_too() -> None:
    shares = [thinned(ring(20), edge_drop=share) for share in (0.1, 0.2, 0.5)]
    assert pairs(shares[0]) > pairs(shares[1]) > pairs(shares[2])


def test_the_seed_decides_which() -> None:
    first, again, other = (thinned(ring(50), edge_drop=0.5, edge_drop_seed=s) for s in (1, 1, 2))
    assert pairs(first) == pairs(again) != pairs(other)


def test_no_share_leaves_the_graph_as_it_is() -> None:
    assert pairs(thinned(ring(5))) == pairs(ring(5))
