"""Communities of a graph that has changed: only what the change touches may move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import Group, hierarchy, partition
from graphrag_bench.offline.earlier import Earlier
from graphrag_bench.progress import Progress
from graphrag_bench.values import FloatArray, IntArray

Mask = NDArray[np.bool_]


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
    """The communities of the version of the corpus before, moved where the graph has changed.

    Nodes are the same where their names are. A node is touched where it is new, or one of its pairs
    is new, gone or of another weight. The members of an earlier community without a touched or
    lost member stay together; all other nodes begin in the community that they were in, new ones
    alone, and move by Leiden until nothing improves, into a community that stays too. A large
    community is split again below, by the same rule; one that has no node to move keeps its parts.
    Without an earlier version, the communities of `communities.leiden`. Those of a version built by
    other settings are not found and count as none. Settings and rows as there.
    Source: Traag et al. 2019; the rule is ours, after the warm start of dynamic Leiden (Sahu 2024).
    """
    before = _Before.of(graph, earlier_version)
    n_nodes = n_free = 0

    def split(level: int, group: Group) -> Sequence[int]:
        nonlocal n_nodes, n_free
        start, fixed = before.start(level, group.nodes)
        if level == 0:
            n_nodes += len(fixed)
            n_free += int((~fixed).sum())
        if fixed.all():
            return list(map(int, start))
        if not before.known(level, group.nodes).any():
            return partition(group, resolution, seed)
        return partition(group, resolution, seed, start.tolist(), fixed.tolist())

    made = hierarchy(graph, split, max_cluster_size, use_lcc)
    if earlier_version.key:
        progress.say(f"communities: {n_free:,} of {n_nodes:,} nodes may move, the others stay")
    return made


@dataclass(frozen=True)
class _Before:
    """The earlier community of each node by level, -1 for none, and which nodes are touched.

    `sizes` are those of the earlier communities, lost members included.
    """

    of_level: tuple[IntArray, ...]
    sizes: IntArray
    touched: Mask

    @classmethod
    def of(cls, graph: Graph, earlier: Earlier) -> _Before:
        communities, old = earlier.communities, earlier.graph
        if communities is None or old is None:
            return cls((), np.zeros(0, np.int64), np.ones(graph.n_nodes, bool))
        rows = {name: row for row, name in enumerate(graph.names)}
        now = np.array([rows.get(name, -1) for name in old.names], np.int64)
        held = communities.nodes
        sizes = np.diff(held.indptr).astype(np.int64)
        community = np.repeat(np.arange(len(sizes)), sizes)
        of_level = []
        for level in range(int(communities.level.max(initial=-1)) + 1):
            mine = communities.level[community] == level
            place, of = now[held.indices[mine]], np.full(graph.n_nodes, -1, np.int64)
            of[place[place >= 0]] = community[mine][place >= 0]
            of_level.append(of)
        return cls(tuple(of_level), sizes, touched(old, graph, now))

    def known(self, level: int, nodes: IntArray) -> IntArray:
        """Which of the nodes had a community of this level, as 0 or 1."""
        return np.asarray(self._of(level, nodes) >= 0, np.int64)

    def start(self, level: int, nodes: IntArray) -> tuple[IntArray, Mask]:
        """Where each node begins, from 0 on, and whether it stays there."""
        of = self._of(level, nodes)
        labels = np.where(of >= 0, of, len(self.sizes) + np.arange(len(nodes)))
        distinct, start = np.unique(labels, return_inverse=True)
        still = (of >= 0) & ~self.touched[nodes]
        n_still = np.bincount(start[still], minlength=len(distinct))
        wanted = np.full(len(distinct), -1, np.int64)
        is_old = distinct < len(self.sizes)
        wanted[is_old] = self.sizes[distinct[is_old]]
        return np.asarray(start, np.int64), np.asarray((n_still == wanted)[start], bool)

    def _of(self, level: int, nodes: IntArray) -> IntArray:
        if level >= len(self.of_level):
            return np.full(len(nodes), -1, np.int64)
        return self.of_level[level][nodes]


def touched(old: Graph, new: Graph, now: IntArray) -> Mask:
    """Whether each node of the new graph is new or has a pair that is new, gone or changed.

    `now` maps the rows of the old graph to those of the new one, -1 where a node is gone.
    """
    found = np.ones(new.n_nodes, bool)
    found[now[now >= 0]] = False
    low, high, weight = _pairs(old)
    lost = (now[low] < 0) | (now[high] < 0)
    ends = np.concatenate([now[low[lost]], now[high[lost]]])
    found[ends[ends >= 0]] = True
    kept = now[low[~lost]], now[high[~lost]]
    before = _keys(np.minimum(*kept), np.maximum(*kept), new.n_nodes)
    old_order = np.argsort(before)
    before, old_weight = before[old_order], weight[~lost][old_order]
    low, high, weight = _pairs(new)
    after = _keys(low, high, new.n_nodes)
    order = np.argsort(after)
    after, new_weight = after[order], weight[order]
    common, at, to = np.intersect1d(before, after, assume_unique=True, return_indices=True)
    same = common[old_weight[at] == new_weight[to]]
    changed = np.concatenate([np.setdiff1d(before, same), np.setdiff1d(after, same)])
    found[changed // new.n_nodes] = True
    found[changed % new.n_nodes] = True
    return found


def _pairs(graph: Graph) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs that communities are made of: of positive weight, of two nodes."""
    pairs = graph.pairs
    keep = (pairs.weight > 0) & (pairs.source != pairs.target)
    columns = pairs.source[keep].astype(np.int64), pairs.target[keep].astype(np.int64)
    return *columns, np.asarray(pairs.weight[keep], np.float64)


def _keys(low: IntArray, high: IntArray, n_nodes: int) -> IntArray:
    return np.asarray(low * n_nodes + high, np.int64)
