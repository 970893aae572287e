"""Communities grown from those of the version before: what a change does not touch stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.earlier import Earlier
from graphrag_bench.offline.node_groups import (
    Edges,
    Groups,
    Split,
    as_communities,
    by_label,
    components,
    hierarchy,
    subgraphs,
)
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray, IntArray

_DECIMALS = 6


@artifact("communities.leiden_grown")
def leiden_grown(
    *,
    graph: Graph,
    earlier_version: Earlier,
    progress: Progress,
    max_cluster_size: PositiveInt = 10,
    resolution: Annotated[float, Field(gt=0)] = 1.0,
    use_lcc: bool = False,
    seed: NonNegativeInt = 0xDEADBEEF,
) -> Communities:
    """The communities of the version before, changed where the graph has changed.

    A node is touched when it is new or its pairs have changed: its neighbours or, at six decimals,
    their weights. Nodes are the same by name. At level 0 a community without a touched member
    stays exactly as it was, and no node joins it. Members of the others start from their
    community, from its parts where it has fallen apart, and new nodes start alone; they move within
    their connected component until the modularity at `resolution` no longer grows. One level down
    the same holds within each large community: a part without a touched member stays, unless its
    members are in several communities now. What stays is not split again. Rows, levels and
    settings are those of `communities.leiden`, and so is the result, byte for byte, where there is
    nothing to grow from: no version before, or one that was built by other settings alone.
    Source: Traag et al. 2019; none for what stays: modularity is improved over the partitions that
    keep it.
    """
    old, communities = earlier_version.graph, earlier_version.communities
    if old is None or communities is None:
        return leiden(
            graph=graph,
            max_cluster_size=max_cluster_size,
            resolution=resolution,
            use_lcc=use_lcc,
            seed=seed,
        )
    edges = Edges.of(graph)
    moves = _Moves(_Start.of(old, communities, graph, edges), resolution, seed)
    levels = hierarchy(edges, components(edges, use_lcc), moves.split, max_cluster_size)
    progress.say(
        f"communities: {moves.n_free[0] if moves.n_free else 0:,} of {graph.n_nodes:,} nodes could "
        f"move, {moves.n_stayed:,} of {len(communities):,} communities stay"
    )
    return as_communities(levels, graph)


@dataclass(frozen=True, eq=False)
class _Start:
    """What the new graph has of the version before.

    `row` is the row of each node in the graph before, -1 for a new one; `touched` says which have
    changed, both (n_nodes,).
    """

    communities: Communities
    n_nodes_before: int
    row: IntArray
    touched: NDArray[np.bool_]

    @classmethod
    def of(cls, old: Graph, communities: Communities, graph: Graph, edges: Edges) -> _Start:
        """By the names of the nodes."""
        place = {name: row for row, name in enumerate(old.names)}
        row = np.array([place.get(name, -1) for name in graph.names], np.int64)
        touched = (row < 0) | _changed(Edges.of(old), edges, row)
        return cls(communities, old.n_nodes, row, touched)

    def labels(self, level: int) -> IntArray:
        """The community of a level that each node was in, -1 for none, int64 (n_nodes,)."""
        held = self.communities.nodes
        of = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
        chosen = self.communities.level[of] == level
        label = np.full(self.n_nodes_before + 1, -1, np.int64)  # the last one is of new nodes
        label[held.indices[chosen]] = of[chosen]
        return label[self.row]

    def staying(self, label: IntArray, groups: Groups) -> NDArray[np.bool_]:
        """Which communities before have their members together in a group, none touched."""
        sizes = np.diff(self.communities.nodes.indptr)
        known = label[groups.members] >= 0
        of, community = groups.of[known], label[groups.members[known]]
        one = np.full(len(sizes), -1, np.int64)
        one[community] = of
        kept = (one[community] == of) & ~self.touched[groups.members[known]]
        n_kept = np.bincount(community[kept], minlength=len(sizes))
        return np.asarray((n_kept == sizes) & (one >= 0))

    def whole(self, stays: IntArray) -> NDArray[np.bool_]:
        """Which of these communities before (-1: none) stay and were not split."""
        was_split = np.zeros(len(self.communities) + 1, bool)
        was_split[self.communities.parent] = True
        return (stays >= 0) & ~was_split[stays]


def _changed(old: Edges, new: Edges, row: IntArray) -> NDArray[np.bool_]:
    """Which nodes of the new graph have a pair that is in one of both alone, or weighs otherwise.

    `row` is the row before of each of the new nodes, -1 where there is none.
    """
    n = new.n_nodes
    now = np.full(old.n_nodes, -1, np.int64)
    now[row[row >= 0]] = np.flatnonzero(row >= 0)
    low, high = now[old.low], now[old.high]
    changed = np.zeros(n + 1, bool)  # the last one is of nodes that are gone
    lost = (low < 0) | (high < 0)
    changed[low[lost]] = changed[high[lost]] = True
    low, high = low[~lost], high[~lost]
    pair = np.minimum(low, high) * n + np.maximum(low, high)
    pair = np.concatenate([pair, new.low.astype(np.int64) * n + new.high])
    weight = np.concatenate([old.weighing[~lost], new.weighing]).round(_DECIMALS)
    order = np.lexsort((weight, pair))
    pair, weight = pair[order], weight[order]
    twin = (pair[1:] == pair[:-1]) & (weight[1:] == weight[:-1])
    alone = pair[~(np.append(twin, False) | np.append(False, twin))[: len(pair)]]
    changed[alone // max(n, 1)] = changed[alone % max(n, 1)] = True
    return changed[:n]


class _Moves:
    """Partitions of groups in which what stays is left alone; counts what could move."""

    def __init__(self, start: _Start, resolution: float, seed: int) -> None:
        """Nothing has moved yet."""
        self.start, self.resolution, self.seed = start, resolution, seed
        self.n_free: list[int] = []
        self.n_stayed = 0

    def split(self, edges: Edges, groups: Groups) -> Split:
        """The communities within each group of the next level down, the first time of level 0.

        In order of the groups, then of the lowest node. What stays and was whole is not to be split
        again.
        """
        label = self.start.labels(len(self.n_free))
        stays = self.start.staying(label, groups)
        fixed = np.append(stays, False)[label]  # -1, no community, is the last
        free = groups.only(~fixed[groups.members])
        self.n_free.append(len(free.members))
        self.n_stayed += int(np.count_nonzero(stays))
        n_before = len(stays)
        made = np.where(fixed, label, -1)
        made[free.members] = self._moved(edges, groups, free, label) + n_before
        found, part = by_label(groups, made[groups.members])
        of = made[found.members[found.starts[:-1]]]
        return found, part, self.start.whole(np.where(of < n_before, of, -1))

    def _moved(self, edges: Edges, groups: Groups, free: Groups, label: IntArray) -> IntArray:
        """A label from 0 for each free node, another one in each group."""
        strength, total = _strengths(edges, groups)
        inner = edges.within(free)
        begin = _connected(inner, label)
        moved = np.empty(len(free.members), np.int64)
        starts, n_labels = free.starts, 0
        for row, (ends, weights) in enumerate(subgraphs(inner, free)):
            inside = slice(*starts[row : row + 2])
            if inside.start == inside.stop:
                continue
            nodes = free.members[inside]
            _, first = np.unique(begin[nodes], return_inverse=True)
            share = self.resolution / (2 * total[row])
            moved[inside] = _optimised(ends, weights, strength[nodes], first, share, self.seed)
            moved[inside] += n_labels
            n_labels = int(moved[inside].max()) + 1
        return moved


def _strengths(edges: Edges, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """The weights that meet at each node (n_nodes,), and those of each group together."""
    n, weight = edges.n_nodes, edges.weighing
    strength = np.bincount(edges.low, weight, n) + np.bincount(edges.high, weight, n)
    total = np.bincount(groups.of, strength[groups.members], len(groups)) / 2
    return np.asarray(strength, np.float64), np.asarray(total, np.float64)


def _connected(edges: Edges, label: IntArray) -> IntArray:
    """The communities by a label, each cut into its connected parts, int64 (n_nodes,)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    same = (label[edges.low] == label[edges.high]) & (label[edges.low] >= 0)
    low, high = edges.low[same], edges.high[same]
    near = csr_matrix((np.ones(len(low)), (low, high)), shape=(edges.n_nodes, edges.n_nodes))
    return np.asarray(connected_components(near, directed=False)[1], np.int64)


def _optimised(
    ends: IntArray,
    weights: NDArray[np.object_],
    strength: FloatArray,
    first: IntArray,
    share: float,
    seed: int,
) -> list[int]:
    """The community of each node, by leidenalg from a first one until nothing improves.

    The quality is the modularity of the group that the nodes are a part of: `strength` counts all
    that meets at a node there, and two nodes in one community cost `share` times both strengths.
    """
    import igraph
    import leidenalg

    made = leidenalg.CPMVertexPartition(
        igraph.Graph(n=len(strength), edges=ends),
        initial_membership=first.tolist(),
        weights=weights.tolist(),
        node_sizes=strength.tolist(),
        resolution_parameter=share,
    )
    optimiser = leidenalg.Optimiser()
    optimiser.set_rng_seed(seed)
    optimiser.optimise_partition(made, n_iterations=-1)
    membership: list[int] = made.membership
    return membership
