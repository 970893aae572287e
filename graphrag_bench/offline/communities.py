"""Graph to communities by hierarchical Leiden: communities, and communities within large ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import IntArray

Int32Array = NDArray[np.int32]


@artifact("communities.leiden")
def leiden(
    *,
    graph: Graph,
    max_cluster_size: PositiveInt = 10,
    resolution: Annotated[float, Field(gt=0)] = 1.0,
    use_lcc: bool = False,
    seed: NonNegativeInt = 0xDEADBEEF,
) -> Communities:
    """The communities of the graph by weighted modularity at `resolution`, level 0 the coarsest.

    Each connected component of two nodes or more is partitioned by itself, a community of more than
    `max_cluster_size` nodes again one level down, until it is small enough or cannot be split. A
    node without a positive edge is in none, and a node is in one community of each level down to
    where it was last split. Rows are in order of level, then parent, then lowest member. `use_lcc`
    takes the largest component alone (ties: the one with the lowest node), as the released code of
    Zhou et al. does; textual graphs fall into thousands of parts, which it would leave out.
    Source: Traag et al. 2019; Edge et al. 2024 (GraphRAG), section 3.1.4; Zhou et al. 2025, section
    5.
    """

    def split(level: int, group: Group) -> Sequence[int]:
        return partition(group, resolution, seed)

    return hierarchy(graph, split, max_cluster_size, use_lcc)


def hierarchy(graph: Graph, split: Split, max_cluster_size: int, use_lcc: bool) -> Communities:
    """The communities that `split` makes of each component, and of each large community of a level.

    A community of more than `max_cluster_size` nodes is split one level down, until it is small
    enough or is not split.
    """
    edges = _Edges.of(graph)
    waiting = _components(edges, use_lcc)
    rows = np.full(len(waiting), -1, np.int64)
    levels: list[tuple[IntArray, _Groups]] = []
    n_found = 0
    while len(waiting):
        edges = edges.within(waiting)
        found, part = _partitioned(edges, waiting, partial(split, len(levels)))
        divided = np.bincount(part, minlength=len(waiting)) > 1
        kept = divided[part] | (not levels)
        found = found.chosen(kept)
        levels.append((rows[part[kept]], found))
        large = found.sizes > max_cluster_size
        waiting, rows = found.chosen(large), n_found + np.flatnonzero(large)
        n_found += len(found)
    return _communities(levels, graph)


class Group(NamedTuple):
    """A subgraph: its nodes, int64 ascending, and edges by places among them, with weights."""

    nodes: IntArray
    ends: IntArray
    weights: NDArray[np.object_]


Split = Callable[[int, Group], Sequence[int]]
"""The community of each node of a group, of a level from 0 on."""


@dataclass(frozen=True, eq=False)
class _Groups:
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

    def chosen(self, which: NDArray[np.bool_]) -> _Groups:
        """The groups that a mask (n,) names."""
        return _Groups(self.members[np.repeat(which, self.sizes)], self.sizes[which])


@dataclass(frozen=True, eq=False)
class _Edges:
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
    def of(cls, graph: Graph) -> _Edges:
        pairs = graph.pairs
        keep = (pairs.weight > 0) & (pairs.source != pairs.target)
        distinct, which = np.unique(pairs.weight[keep], return_inverse=True)
        low, high = (column[keep].astype(np.int32) for column in (pairs.source, pairs.target))
        weights = np.array(distinct.tolist(), object)
        return cls(graph.n_nodes, low, high, which.astype(np.int32), weights)

    def within(self, groups: _Groups) -> _Edges:
        """The edges that join two nodes of one group."""
        of = np.full(self.n_nodes, -1, np.int32)
        of[groups.members] = groups.of
        keep = (of[self.low] == of[self.high]) & (of[self.low] >= 0)
        low, high, weight = self.low[keep], self.high[keep], self.weight[keep]
        return _Edges(self.n_nodes, low, high, weight, self.weights)


def _components(edges: _Edges, use_lcc: bool) -> _Groups:
    """The nodes of each component of two nodes or more, in order of the lowest."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    n = edges.n_nodes
    near = csr_matrix((np.ones(len(edges.low)), (edges.low, edges.high)), shape=(n, n))
    _, label = connected_components(near, directed=False)  # numbered by their lowest nodes
    sizes = np.bincount(label).astype(np.int64)
    found = _Groups(np.argsort(label, kind="stable"), sizes).chosen(sizes > 1)
    if use_lcc and len(found):
        return found.chosen(np.arange(len(found)) == found.sizes.argmax())
    return found


def _partitioned(
    edges: _Edges, groups: _Groups, split: Callable[[Group], Sequence[int]]
) -> tuple[_Groups, IntArray]:
    """The communities of the subgraph of each group, and of each the group it is a part of.

    In order of the groups, then of the lowest node. `edges` are those within the groups.
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
    label = np.empty(starts[-1], np.int64)
    n_labels = 0
    for row in range(len(groups)):
        of_group, inside = slice(*starts[row : row + 2]), slice(*stops[row : row + 2])
        label[of_group] = split(Group(groups.members[of_group], ends[inside], weights[inside]))
        label[of_group] += n_labels
        n_labels = int(label[of_group].max()) + 1
    return _by_label(groups, label)


def partition(
    group: Group,
    resolution: float,
    seed: int,
    start: Sequence[int] | None = None,
    fixed: Sequence[bool] | None = None,
) -> list[int]:
    """The community of each node, by leidenalg until nothing improves.

    Nodes begin alone, or in the communities `start`; those that are `fixed` do not move.
    """
    import igraph
    import leidenalg

    made = leidenalg.RBConfigurationVertexPartition(
        igraph.Graph(n=len(group.nodes), edges=group.ends),
        initial_membership=start,
        weights=group.weights.tolist(),
        resolution_parameter=resolution,
    )
    optimiser = leidenalg.Optimiser()
    optimiser.set_rng_seed(seed)
    optimiser.optimise_partition(made, n_iterations=-1, is_membership_fixed=fixed)
    membership: list[int] = made.membership
    return membership


def _by_label(groups: _Groups, label: IntArray) -> tuple[_Groups, IntArray]:
    """The groups cut by the label of each member, in order of first appearance, and their group."""
    _, first, which = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    sizes = np.bincount(rank[which], minlength=len(first)).astype(np.int64)
    members = groups.members[np.argsort(rank[which], kind="stable")]
    return _Groups(members, sizes), groups.of[np.sort(first)]


def _communities(levels: list[tuple[IntArray, _Groups]], graph: Graph) -> Communities:
    from scipy.sparse import csr_matrix

    none = np.zeros(0, np.int64)
    every = _Groups(
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
