"""Nodes in groups, the edges within them, and what is made of both: a hierarchy of communities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import IntArray

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Groups:
    """Nodes of groups, one group after the other; those of group i are sorted."""

    members: IntArray
    sizes: IntArray

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> IntArray:
        """Where each group starts, and where the last one ends, int64 (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def of(self) -> IntArray:
        """The group of each of the `members`."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def only(self, members: NDArray[np.bool_]) -> Groups:
        """As many groups, of the members alone that a mask (n_members,) names."""
        sizes = np.bincount(self.of[members], minlength=len(self)).astype(np.int64)
        return Groups(self.members[members], sizes)

    def chosen(self, which: NDArray[np.bool_]) -> Groups:
        """The groups that a mask (n,) names."""
        return Groups(self.members[np.repeat(which, self.sizes)], self.sizes[which])


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of positive weight without self-loops, `low` < `high`, sorted by both.

    `weight` says which of the distinct `weights`, Python floats, each one has: leidenalg reads a
    list of them, which holds no float for each edge so.
    """

    n_nodes: int
    low: Int32Array
    high: Int32Array
    weight: Int32Array
    weights: NDArray[np.object_]

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """The pairs of a graph."""
        pairs = graph.pairs
        keep = (pairs.weight > 0) & (pairs.source != pairs.target)
        distinct, which = np.unique(pairs.weight[keep], return_inverse=True)
        low, high = (column[keep].astype(np.int32) for column in (pairs.source, pairs.target))
        weights = np.array(distinct.tolist(), object)
        return cls(graph.n_nodes, low, high, which.astype(np.int32), weights)

    def within(self, groups: Groups) -> Edges:
        """The edges that join two nodes of one group."""
        of = np.full(self.n_nodes, -1, np.int32)
        of[groups.members] = groups.of
        keep = (of[self.low] == of[self.high]) & (of[self.low] >= 0)
        low, high, weight = self.low[keep], self.high[keep], self.weight[keep]
        return Edges(self.n_nodes, low, high, weight, self.weights)


Level = tuple[IntArray, Groups]
"""The communities of one level and the row of the parent of each, -1 for none."""
Split = tuple[Groups, IntArray, NDArray[np.bool_]]
"""The communities within groups, the group of each, and which are not to be split again."""
Splitting = Callable[[Edges, Groups], Split]
"""Edges within groups, and those groups, to what they are split into."""


def components(edges: Edges, use_lcc: bool) -> Groups:
    """The nodes of each component of two nodes or more, in order of the lowest."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    n = edges.n_nodes
    near = csr_matrix((np.ones(len(edges.low)), (edges.low, edges.high)), shape=(n, n))
    _, label = connected_components(near, directed=False)  # numbered by their lowest nodes
    sizes = np.bincount(label).astype(np.int64)
    found = Groups(np.argsort(label, kind="stable"), sizes).chosen(sizes > 1)
    if use_lcc and len(found):
        return found.chosen(np.arange(len(found)) == found.sizes.argmax())
    return found


def subgraphs(edges: Edges, groups: Groups) -> Iterator[tuple[IntArray, NDArray[np.object_]]]:
    """The edges within each group by places in it, int64 (n, 2), and their weights.

    `edges` are those within the groups.
    """
    starts = groups.starts
    of, place = np.empty((2, edges.n_nodes), np.int64)
    of[groups.members] = groups.of
    place[groups.members] = np.arange(starts[-1]) - np.repeat(starts[:-1], groups.sizes)
    group = of[edges.low]
    # igraph numbers the edges of a subgraph by the lower end where it has more than half of the
    # nodes, else by the higher; the last bits of the sum of all weights depend on it
    small = 2 * groups.sizes <= edges.n_nodes
    order = np.lexsort((np.where(small[group], edges.high, 0), group))
    ends = np.stack([place[edges.low[order]], place[edges.high[order]]], axis=1)
    weights = edges.weights[edges.weight[order]]
    stops = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(groups)))])
    del of, place, group, order
    for start, stop in pairwise(stops.tolist()):
        yield ends[start:stop], weights[start:stop]


def by_label(groups: Groups, label: IntArray) -> tuple[Groups, IntArray]:
    """The groups cut by the label of each member, in order of first appearance, and their group."""
    _, first, which = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    sizes = np.bincount(rank[which], minlength=len(first)).astype(np.int64)
    members = groups.members[np.argsort(rank[which], kind="stable")]
    return Groups(members, sizes), groups.of[np.sort(first)]


def hierarchy(
    edges: Edges, waiting: Groups, split: Splitting, max_cluster_size: int
) -> list[Level]:
    """The communities within some groups, and within those of more than `max_cluster_size` nodes.

    A group that is not divided is a community at level 0 alone.
    """
    rows = np.full(len(waiting), -1, np.int64)
    levels: list[Level] = []
    n_found = 0
    while len(waiting):
        edges = edges.within(waiting)
        found, part, whole = split(edges, waiting)
        divided = np.bincount(part, minlength=len(waiting)) > 1
        kept = divided[part] | (not levels)
        found = found.chosen(kept)
        levels.append((rows[part[kept]], found))
        large = (found.sizes > max_cluster_size) & ~whole[kept]
        waiting, rows = found.chosen(large), n_found + np.flatnonzero(large)
        n_found += len(found)
    return levels


def as_communities(levels: Sequence[Level], graph: Graph) -> Communities:
    """The communities of each level, given with the rows of their parents, coarsest first."""
    from scipy.sparse import csr_matrix

    none = np.zeros(0, np.int64)
    every = Groups(
        np.concatenate([none, *(found.members for _, found in levels)]),
        np.concatenate([none, *(found.sizes for _, found in levels)]),
    )
    held = np.ones(len(every.members), bool), every.members, every.starts
    nodes: Any = csr_matrix(held, shape=(len(every), graph.n_nodes))
    chunks = (nodes @ graph.node_chunk.astype(bool, copy=False)).tocsr()
    chunks.sort_indices()
    level = np.repeat(np.arange(len(levels)), [len(found) for _, found in levels])
    parent = np.concatenate([none, *(parents for parents, _ in levels)])
    return Communities(level.astype(np.int64), parent, nodes, chunks)
