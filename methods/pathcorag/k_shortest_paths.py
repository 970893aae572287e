"""PathCoRAG's paths: the k shortest paths between nodes of consecutive reasoning steps."""

from functools import cache
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import Int32Array
from graphrag_bench.arrays import DECIMALS, BoolArray, FloatArray, IntArray

MOST_HOPS = 4
"""Ties between paths with more hops are broken by node ids, not by similarity."""
MILLION = 1_000_000
"""Similarities are compared as whole multiples of one millionth, i.e. to six decimals."""
NodePath = tuple[int, ...]


class Likeness(NamedTuple):
    """For each pair of adjacent nodes, the relationship most similar to the question.

    `row` (int64, n_pairs) is the row of this relationship. The int64 CSR matrix `ways` (n_nodes,
    n_nodes) contains the similarities times a million. Zeros are stored explicitly.
    """

    row: IntArray
    ways: Any

    @classmethod
    def of(cls, graph: Graph, similarity: FloatArray) -> "Likeness":
        """Return the likeness, given the similarity of each relationship to the question."""
        from scipy.sparse import csr_matrix

        millionths = np.rint(similarity * MILLION).astype(np.int64)
        order = np.lexsort((-millionths, graph.pairs.of))
        row = order[np.searchsorted(graph.pairs.of[order], np.arange(len(graph.pairs.first)))]
        near, shape = graph.neighbours, (graph.n_nodes, graph.n_nodes)
        data = millionths[row][graph.pairs.of[near.rows]]
        return cls(row, csr_matrix((data, near.nodes, near.starts), shape=shape))

    def of_hops(self, nodes: IntArray) -> FloatArray:
        """Return the similarity of each hop of walks (n, k), as (n, k - 1). Padding gets 0."""
        hops, like = nodes[:, 1:] >= 0, np.zeros((len(nodes), nodes.shape[1] - 1))
        like[hops] = np.ravel(self.ways[nodes[:, :-1][hops], nodes[:, 1:][hops]]) / MILLION
        return like

    def rows_along(self, graph: Graph, walk: NodePath) -> tuple[int, ...]:
        """Return the relationship most similar to the question for each hop of a walk."""
        return tuple(self.row[graph.pairs.of[[*graph.neighbours.rows_along(walk)]]].tolist())


class _PartialPaths(NamedTuple):
    """Partial paths of equal length: `nodes` int64 (n, hops + 1), and summed similarities (n,)."""

    nodes: IntArray
    sums: IntArray

    @classmethod
    def starting_at(cls, starts: IntArray, hops: int, ways: Any) -> "_PartialPaths":
        nodes, sums = starts[:, None], np.zeros(len(starts), np.int64)
        for _ in range(hops):
            near = ways[nodes[:, -1]]
            place = np.repeat(np.arange(len(nodes)), np.diff(near.indptr))
            new = (nodes[place] != near.indices[:, None]).all(axis=1)
            nodes = np.column_stack([nodes[place], near.indices])[new]
            sums = (sums[place] + near.data)[new]
        return cls(nodes, sums)

    def take(self, rows: IntArray) -> "_PartialPaths":
        return _PartialPaths(self.nodes[rows], self.sums[rows])

    def joined_with(self, others: "_PartialPaths") -> "_PartialPaths":
        """Extend paths by reversed `others` (sorted by last node), without repeating a node."""
        ends = others.nodes[:, -1]
        first, last = (np.searchsorted(ends, self.nodes[:, -1], side) for side in ("left", "right"))
        place = np.repeat(np.arange(len(first)), last - first)
        other = np.arange(len(place)) - np.repeat(np.cumsum(last - first) - last, last - first)
        nodes = np.hstack([self.nodes[place], others.nodes[other, -2::-1]])
        simple = np.flatnonzero(np.diff(np.sort(nodes, axis=1), axis=1).all(axis=1))
        return _PartialPaths(nodes, self.sums[place] + others.sums[other]).take(simple)


def shortest_paths(
    graph: Graph, pairs: IntArray, likeness: Likeness, *, k: int, most: int | None
) -> tuple[IntArray, IntArray]:
    """For each pair (source, target), return the `k` shortest paths of at most `most` hops.

    `pairs` is int64 (n_pairs, 2). Pairs are distinct, and source and target differ. A path visits
    no node twice and follows relationships in either direction. The first result is the row in
    `pairs` of each path, int64 (n,). The second result is the nodes of each path, int64 (n, longest
    + 1), padded with -1. Ties between paths of up to four hops are broken by higher sum of
    similarities. Remaining ties are broken by comparing the tuples of node ids.
    Source: PathCoRAG, Section 4.3 and Appendix B (Yen's algorithm).
    """
    from scipy.sparse.csgraph import connected_components

    found: list[tuple[int, NodePath]] = []
    n_found = np.zeros(len(pairs), np.int64)
    for hops in range(1, min(most or MOST_HOPS, MOST_HOPS) + 1):
        lacking = np.flatnonzero(n_found < k)
        before = min(hops - 1, 2)  # walks from both ends meet
        ends = np.unique(pairs[lacking, 1])
        tails = _PartialPaths.starting_at(ends, hops - before, likeness.ways)
        tails = tails.take(np.argsort(tails.nodes[:, -1], kind="stable"))
        for source in np.unique(pairs[lacking, 0]):
            rows = lacking[pairs[lacking, 0] == source]
            pair_of = np.full(graph.n_nodes, -1)
            pair_of[pairs[rows, 1]] = rows
            here = tails.take(np.flatnonzero(pair_of[tails.nodes[:, 0]] >= 0))
            walks = _PartialPaths.starting_at(source[None], before, likeness.ways).joined_with(here)
            pair = pair_of[walks.nodes[:, -1]]
            order = np.lexsort((*walks.nodes.T[::-1], -walks.sums, pair))
            place = np.arange(len(order)) - np.searchsorted(pair[order], pair[order])
            best = order[place < k - n_found[pair[order]]]
            n_found += np.bincount(pair[best], minlength=len(pairs))
            found += zip(pair[best].tolist(), map(tuple, walks.nodes[best].tolist()), strict=True)
    if most is None or most > MOST_HOPS:
        _, component = connected_components(graph.adjacency, directed=False)
        rows = np.flatnonzero((n_found < k) & (np.diff(component[pairs], axis=1)[:, 0] == 0))
        found = [one for one in found if n_found[one[0]] >= k]
        for row, (source, target) in zip(rows.tolist(), pairs[rows].tolist(), strict=True):
            found += ((row, walk) for walk in _yen(graph, source, target, k, most or graph.n_nodes))
    nodes = np.full((len(found), max((len(walk) for _, walk in found), default=1)), -1, np.int64)
    for path, (_, walk) in enumerate(found):
        nodes[path, : len(walk)] = walk
    return np.array([pair for pair, _ in found], np.int64), nodes


def _yen(graph: Graph, source: int, target: int, k: int, most: int) -> list[NodePath]:
    """Return the `k` shortest loopless paths of at most `most` hops (Yen, with Lawler's rule)."""
    ways, shortest_way = graph.neighbours, _compiled_shortest_way()
    blocked, banned = np.zeros((2, graph.n_nodes), bool)
    walks: list[NodePath] = []
    waiting: list[tuple[int, NodePath, int]] = [(0, (source,), 0)]
    while waiting and len(walks) < k:
        _, walk, spur = heappop(waiting)
        if walk[-1] == target:
            walks.append(walk)
        for at in range(spur, max(len(walk) - 1, 1)):
            blocked[list(walk[:at])] = True
            after = [one[at + 1] for one in walks if one[: at + 1] == walk[: at + 1]]
            banned[after] = True
            way = shortest_way(ways.starts, ways.nodes, walk[at], target, blocked, banned)
            banned[after] = blocked[list(walk[:at])] = False
            if 0 < len(way) <= most + 1 - at:
                onward = (*walk[:at], *way.tolist())
                heappush(waiting, (len(onward), onward, at))
    return walks


@cache
def _compiled_shortest_way() -> Any:
    from graphrag_bench.algorithms.kernels import kernel

    return kernel(shortest_way)


def shortest_way(
    starts: Int32Array, nodes: Int32Array, source: int, target: int,
    blocked: BoolArray, banned: BoolArray,
) -> Int32Array:  # fmt: skip
    """Return the nodes of the shortest path from `source` to `target`, or an empty array.

    Ties are broken by comparing the tuples of node ids. No hop leads to a node in `blocked`
    (n_nodes,), and the first hop does not lead to a node in `banned` (n_nodes,).
    """
    lost = True
    for near in nodes[starts[source] : starts[source + 1]]:
        lost = lost and (blocked[near] or banned[near])
    if lost:
        return np.empty(0, np.int32)
    distance, queue = np.full(len(blocked), -1, np.int32), np.empty(len(blocked), np.int32)
    distance[target], queue[0] = 0, target
    done, seen, hops = 0, 1, -1
    while done < seen and hops < 0:
        node = queue[done]
        done += 1
        for near in nodes[starts[node] : starts[node + 1]]:
            if near == source and not banned[node]:
                hops = distance[node] + 1
            elif near != source and distance[near] < 0 and not blocked[near]:
                distance[near] = distance[node] + 1
                queue[seen] = near
                seen += 1
    way = np.empty(hops + 1, np.int32)
    for hop in range(hops + 1):
        way[hop] = source
        for near in nodes[starts[source] : starts[source + 1]]:
            if distance[near] == hops - hop - 1 and not (hop == 0 and banned[near]):
                source = near
                break
    return way


Scored = tuple[IntArray, FloatArray]
"""The nodes of a step and their scores."""


def likely_pairs(sources: Scored, targets: Scored, most: int | None) -> IntArray:
    """Return the `most` pairs (source, target) with the highest product of scores, int64 (n, 2).

    Negative scores count as 0. Ties are broken by lower source id, then by lower target id.
    """
    (from_nodes, from_scores), (to_nodes, to_scores) = sources, targets
    product = np.outer(np.clip(from_scores, 0, None), np.clip(to_scores, 0, None)).ravel()
    pairs = np.stack(np.meshgrid(from_nodes, to_nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -np.round(product, DECIMALS)))
    return np.asarray(pairs[order[:most]], np.int64)
