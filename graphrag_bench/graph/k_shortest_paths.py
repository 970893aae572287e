"""PathCoRAG's paths: the k shortest between nodes of adjacent reasoning steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.neighbours import Int32Array
from graphrag_bench.values import DECIMALS, FloatArray, IntArray

if TYPE_CHECKING:
    from graphrag_bench.graph.k_shortest_kernels import Best, Edges

MOST_HOPS = 4
"""The longest path that `fewest_hops` looks for."""

MILLION = 1_000_000
"""Similarities and costs are compared in whole millionths, that is by six decimals."""


@dataclass(frozen=True, eq=False)
class PairPaths:
    """Up to k paths of each of some pairs, best first, as arrays of one row for each path.

    `pair` is the row of the pair, int64 (n,); `nodes` int64 (n, longest + 1), -1 after the last;
    `hops` int64 (n,); `costs` int64 (n,), the length in millionths; `scores` float64 (n,), the
    mean similarity of the path's hops.
    """

    pair: IntArray
    nodes: IntArray
    hops: IntArray
    costs: IntArray
    scores: FloatArray


def fewest_hops(
    graph: Graph,
    pairs: IntArray,
    similarity: FloatArray,
    *,
    k: int,
    most: int,
    keep: int | None = None,
) -> PairPaths:
    """The `k` paths with the fewest hops of each pair (source, target), of 1..4 hops (`most`).

    `pairs` is (n_pairs, 2), the ends of a pair differ; `similarity` (n_relationships,), -1..1. A
    path visits no node twice and follows relationships either way. Of paths with as many hops
    those with the higher sum of similarities, each by six decimals, come first, then the lower
    node tuple from source to target. Of several rows of a pair of nodes the most similar one joins
    them. These are the paths of Yen's algorithm, all ties considered; how they are found (two hops
    from either end) is ours. With `keep`, paths of four hops that are not among the `keep` best of
    all by mean similarity may be left out, which saves half the time.
    Source: PathCoRAG, section 4.3 and appendix B.
    """
    from graphrag_bench.graph.k_shortest_kernels import Best, up_to_two_hops

    edges = edges_of(graph, similarity)
    best = Best(
        np.full((len(pairs), k, MOST_HOPS + 1), -1, np.int32),
        np.empty((len(pairs), k), np.int32),
        np.empty((len(pairs), k), np.int8),
        np.zeros(len(pairs), np.int32),
    )
    degree = graph.degree[pairs]
    first = _grouped(pairs, degree[:, 0] < degree[:, 1], np.arange(len(pairs)))
    up_to_two_hops(edges, first, min(most, 2), best)
    if most >= 3:
        _add_three_hops(edges, pairs, best)
    if most >= 4:
        _add_four_hops(edges, pairs, keep, best)
    return _flat(best)


def any_length(graph: Graph, pairs: IntArray, similarity: FloatArray, *, k: int) -> PairPaths:
    """The `k` paths with the fewest hops of each pair (source, target), however many they have.

    Paths of up to four hops are those of `fewest_hops`. A pair with fewer than `k` of them has
    longer ones too, by Yen's algorithm; of these, ties go to the lower node tuple.
    Source: PathCoRAG, section 4.3 and appendix B.
    """
    from scipy.sparse.csgraph import connected_components

    from graphrag_bench.graph.loopless_kernels import shortest_loopless

    near = fewest_hops(graph, pairs, similarity, k=k, most=MOST_HOPS)
    _, component = connected_components(graph.adjacency, directed=False)
    few = np.bincount(near.pair, minlength=len(pairs)) < k
    rows = np.flatnonzero(few & (component[pairs[:, 0]] == component[pairs[:, 1]]))
    if not len(rows):
        return near
    ways = graph.neighbours
    flat, sizes, of = shortest_loopless(ways.starts, ways.nodes, pairs[rows], k)
    kept = np.flatnonzero(~np.isin(near.pair, rows))
    pair = np.concatenate([near.pair[kept], rows[of]])
    hops = np.concatenate([near.hops[kept], sizes - 1])
    nodes = np.full((len(pair), max(int(hops.max()), MOST_HOPS) + 1), -1, np.int64)
    nodes[: len(kept), : MOST_HOPS + 1] = near.nodes[kept]
    nodes[len(kept) :][np.arange(nodes.shape[1]) < sizes[:, None]] = flat
    like = hop_similarities(graph, nodes, similarity)
    return PairPaths(pair, nodes, hops, hops * MILLION, np.nansum(like, axis=1) / hops)


def hop_similarities(graph: Graph, nodes: IntArray, similarity: FloatArray) -> FloatArray:
    """The similarity of every hop of some paths, of the most similar row of its pair of nodes.

    `nodes` is that of `PairPaths`; float64 (n, longest), NaN after the last hop.
    """
    edges = edges_of(graph, similarity)
    ends = np.repeat(np.arange(graph.n_nodes), np.diff(edges.starts)) * graph.n_nodes + edges.nodes
    hops = nodes[:, 1:] >= 0
    places = np.searchsorted(ends, nodes[:, :-1][hops] * graph.n_nodes + nodes[:, 1:][hops])
    found = np.full(hops.shape, np.nan)
    found[hops] = edges.similarity[edges.rows[places]] / MILLION
    return found


def _add_three_hops(edges: Edges, pairs: IntArray, best: Best) -> None:
    """The paths of three hops of the pairs that have not k yet.

    Two hops are listed from one end of each pair, so that few ways are listed in all.
    """
    from graphrag_bench.graph.k_shortest_kernels import NOTHING, count_ways, tables_of, three_hops

    left = np.flatnonzero(best.n_found < best.sums.shape[1])
    nodes, places = _places(pairs[left])
    ways = count_ways(edges, nodes)
    listed = _cover(places, ways)
    rows = _grouped(places, ~listed[places[:, 0]], left)
    three_hops(edges, tables_of(edges, nodes, np.where(listed, ways, 0), NOTHING), rows, best)


def _cover(pairs: IntArray, costs: IntArray) -> NDArray[np.bool_]:
    """Nodes (n,) of which every pair has one: those left when dear ones are dropped first."""
    others = [0] * len(costs)
    for one, other in pairs.tolist():
        others[one] |= 1 << other
        others[other] |= 1 << one
    dropped = 0
    for node in np.argsort(-costs, kind="stable").tolist():
        if not others[node] & dropped:
            dropped |= 1 << node
    return np.array([not dropped >> node & 1 for node in range(len(costs))], bool)


def _add_four_hops(edges: Edges, pairs: IntArray, keep: int | None, best: Best) -> None:
    """The paths of four hops of the pairs that still have not k.

    A half of a path has at least the lowest sum that the path may have, less the highest of a half.
    """
    from graphrag_bench.graph.k_shortest_kernels import (
        NOTHING,
        count_ways,
        four_hops,
        highest_sum,
        tables_of,
    )

    left = np.flatnonzero(best.n_found < best.sums.shape[1])
    nodes, places = _places(pairs[left])
    floor = _floor(best, keep)
    half = NOTHING if floor is None else floor - highest_sum(edges, nodes)
    tables = tables_of(edges, nodes, count_ways(edges, nodes), half)
    sizes = tables.sizes[places]
    rows = _grouped(places, sizes[:, 0] < sizes[:, 1], left)
    n_nodes = len(edges.known)
    four_hops(tables, rows, NOTHING if floor is None else floor, n_nodes, best)


def _floor(best: Best, keep: int | None) -> int | None:
    found = np.arange(best.sums.shape[1]) < best.n_found[:, None]
    means = best.sums[found] / best.hops[found]
    if keep is None or len(means) < keep:
        return None
    return int(np.floor(4 * (np.partition(means, -keep)[-keep] - 1)))


def _places(pairs: IntArray) -> tuple[Int32Array, IntArray]:
    nodes, places = np.unique(pairs, return_inverse=True)
    return nodes.astype(np.int32), places.reshape(pairs.shape)


def cheapest(
    graph: Graph,
    pairs: IntArray,
    similarity: FloatArray,
    *,
    cost: Literal["unit", "inverse_strength", "one_minus_sim"],
    k: int,
    most: int,
) -> PairPaths:
    """The `k` cheapest paths of each pair, of any number of hops up to `most`.

    A hop costs 1, 1 / weight of its pair of nodes, or 1 - similarity (at least 1e-6), each by six
    decimals and at least 1e-6. Of paths that cost the same those with the higher mean similarity
    come first, then the lower node tuple. All else as `fewest_hops`, which is much faster.
    Source: PathCoRAG, section 4.3, with the costs of our specification, section 2.4.
    """
    from graphrag_bench.graph.loopless_kernels import Costs, least_costs
    from graphrag_bench.graph.loopless_kernels import cheapest as search

    edges = edges_of(graph, similarity)
    places = edges.similarity[edges.rows].astype(np.int64)
    price = np.full(len(places), MILLION)
    if cost == "inverse_strength":
        weight = graph.pairs.weight[graph.pairs.of[edges.rows]]
        price = np.rint(MILLION / weight).astype(np.int64)
    elif cost == "one_minus_sim":
        price = MILLION - places
    costs = Costs(edges.starts, edges.nodes, np.maximum(price, 1))
    none = np.zeros(0, np.int64)
    found = [(none, none.reshape(0, most), none)]
    target, least = -1, np.zeros((0, 0), np.int64)
    for row in np.argsort(pairs[:, 1], kind="stable").tolist():
        if pairs[row, 1] != target:
            target = int(pairs[row, 1])
            least = least_costs(costs, target, most)
        ways, totals = search(costs, int(pairs[row, 0]), target, k, least)
        found.append((np.full(len(totals), row), ways, totals))
    pair, ways, totals = (np.concatenate(parts) for parts in zip(*found, strict=True))
    hops = (ways >= 0).sum(axis=1)
    nodes = np.where(ways >= 0, edges.nodes[ways], -1).astype(np.int64)
    nodes = np.column_stack([pairs[pair, 0], nodes])
    scores = np.where(ways >= 0, places[ways], 0).sum(axis=1) / (hops * MILLION)
    order = np.lexsort((*nodes.T[::-1], -np.round(scores, DECIMALS), totals, pair))
    rank = np.arange(len(order)) - np.searchsorted(pair[order], pair[order])
    kept = order[rank < k]
    return PairPaths(pair[kept], nodes[kept], hops[kept], totals[kept], scores[kept])


def hop_rows(graph: Graph, walk: Sequence[int], similarity: FloatArray) -> tuple[int, ...]:
    """The most similar row (by six decimals, ties by lower id) of every hop of a walk."""
    others, first = graph.parallel.T
    rows = []
    for row in graph.neighbours.rows_along(walk):
        here = slice(*np.searchsorted(first, [row, row + 1]))
        every = np.concatenate([[row], others[here]])
        rows.append(int(every[np.argmax(np.rint(similarity[every] * MILLION))]))
    return tuple(rows)


def edges_of(graph: Graph, similarity: FloatArray) -> Edges:
    """The neighbours, and similarities in millionths; a first row has the best of its pair."""
    from graphrag_bench.graph.k_shortest_kernels import Edges

    near = graph.neighbours
    millionths = np.rint(similarity * MILLION).astype(np.int32)
    others, first = graph.parallel.T
    np.maximum.at(millionths, first, millionths[others])
    return Edges(
        near.starts, near.nodes, near.rows, millionths,
        np.empty(len(near.nodes), np.int32), np.empty(graph.n_nodes, np.int32),
        np.zeros(graph.n_nodes, bool),
    )  # fmt: skip


def _grouped(pairs: IntArray, turned: NDArray[np.bool_], rows: IntArray) -> Int32Array:
    ends = np.where(turned[:, None], pairs[:, ::-1], pairs)
    table = np.column_stack([ends, turned, rows]).astype(np.int32)
    return table[np.lexsort((table[:, 1], table[:, 0]))]


def _flat(best: Best) -> PairPaths:
    pair, place = np.nonzero(np.arange(best.sums.shape[1]) < best.n_found[:, None])
    hops = best.hops[pair, place].astype(np.int64)
    nodes = best.nodes[pair, place].astype(np.int64)
    nodes[np.arange(nodes.shape[1]) > hops[:, None]] = -1
    return PairPaths(pair, nodes, hops, hops * MILLION, best.sums[pair, place] / (hops * MILLION))
