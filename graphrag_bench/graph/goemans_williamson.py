"""The prize-collecting Steiner tree by Goemans and Williamson's growth, unrooted, and its pruning.

Clusters of nodes grow moats until their prize is used up or an edge between two is covered; growth
ends when one growing cluster is left. What it joined at rest is then cut off again, unless
something behind it was needed.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from graphrag_bench.values import FloatArray, IntArray

_DECIMALS = 9
_SLACK = 1e-7
"""Times are compared after rounding, so that ties go by lower id and not by the last bits; an
edge with less than the slack left is covered."""


def prize_collecting_tree(
    ends: IntArray, prizes: FloatArray, costs: FloatArray
) -> tuple[list[int], list[int]]:
    """Nodes and edges, ascending, of a tree that is cheap for the prizes it leaves.

    `ends` is int64 (n_edges, 2) without loops, `prizes` (n_nodes,) and `costs` (n_edges,) are at
    least 0. The costs of the tree and the prizes outside it are at most twice the least possible.
    Of events at one time the end of a cluster comes first, then the edge with the lower id. Without
    a prize the tree is empty. Time is O(n_edges log n_edges).
    Source: Goemans & Williamson 1995; Hegde, Indyk & Schmidt 2014 ("gw" pruning of pcst_fast).
    """
    growth = _Growth(ends, prizes, costs)
    grown, joined = growth.run()
    good = set(grown)
    joined = [one for one in joined if {one.growing_end, one.reached_end} <= good]
    neighbours: dict[int, list[int]] = {node: [] for node in grown}
    for one in joined:
        neighbours[one.growing_end].append(one.reached_end)
        neighbours[one.reached_end].append(one.growing_end)
    cut: set[int] = set()
    kept = []
    for one in reversed(joined):
        if one.growing_end in cut and one.reached_end in cut:
            continue
        if one.at_rest < 0 or growth.needed[one.at_rest]:
            growth.need(one.growing_end)
            growth.need(one.reached_end)
            kept.append(one.edge)
        else:
            _cut_off(one.reached_end, one.growing_end, neighbours, cut)
    return [node for node in grown if node not in cut], sorted(kept)


def _cut_off(node: int, before: int, neighbours: dict[int, list[int]], cut: set[int]) -> None:
    """Cut a node and all behind it, seen from the node before it."""
    cut.add(node)
    waiting = [node]
    while waiting:
        for other in neighbours[waiting.pop()]:
            if other != before and other not in cut:
                cut.add(other)
                waiting.append(other)


@dataclass(frozen=True)
class _Joined:
    """An edge that the growth covered, its ends, and the cluster at rest that it reached, or -1."""

    edge: int
    growing_end: int
    reached_end: int
    at_rest: int


class _Growth:
    """Clusters, by number: node i is cluster i, and every join makes a new one of two.

    `radius[v]` is what the moats around node v covered at the time `noted[v]`; they cover more
    while its cluster grows. A label stands for the nodes that are in one cluster at present.
    """

    def __init__(self, ends: IntArray, prizes: FloatArray, costs: FloatArray) -> None:
        n_nodes = len(prizes)
        self.ends: list[list[int]] = ends.tolist()
        self.costs: list[float] = costs.tolist()
        self.prize: list[float] = prizes.tolist()
        self.grows: list[bool] = (prizes > 0).tolist()
        self.moats = [0.0] * n_nodes
        self.began = [0.0] * n_nodes
        self.parent = [-1] * n_nodes
        self.needed = [False] * n_nodes
        self.label_of = list(range(n_nodes))
        self.radius = [0.0] * n_nodes
        self.noted = [0.0] * n_nodes
        self.label = list(range(n_nodes))
        self.cluster = list(range(n_nodes))
        self.members = [[node] for node in range(n_nodes)]
        self.touching = np.argsort(ends.ravel(), kind="stable") // 2
        self.starts = np.searchsorted(np.sort(ends.ravel()), np.arange(n_nodes + 1)).tolist()
        self.covers: list[tuple[float, int]] = []
        self.rests: list[tuple[float, int]] = []

    def run(self) -> tuple[list[int], list[_Joined]]:
        """The nodes of the last growing cluster, ascending, and every edge covered, in time."""
        growing = [node for node, grows in enumerate(self.grows) if grows]
        self.rests = [(round(self.prize[node], _DECIMALS), node) for node in growing]
        heapq.heapify(self.rests)
        for node in growing:
            self._plan_around(node, 0.0)
        joined = []
        n_growing = len(growing)
        while n_growing > 1:
            while not self.grows[self.rests[0][1]]:
                heapq.heappop(self.rests)
            if self.covers and self.covers[0][0] < self.rests[0][0]:
                now, edge = heapq.heappop(self.covers)
                if self._is_covered(edge, now):
                    joined.append(self._join(edge, now))
                    n_growing -= joined[-1].at_rest < 0
            else:
                self._rest(*heapq.heappop(self.rests))
                n_growing -= 1
        last = [cluster for cluster, grows in enumerate(self.grows) if grows]
        return (sorted(self.members[self.label_of[last[0]]]) if last else []), joined

    def need(self, node: int) -> None:
        """Mark every cluster that a node has been in as needed."""
        cluster = node
        while cluster >= 0 and not self.needed[cluster]:
            self.needed[cluster] = True
            cluster = self.parent[cluster]

    def _grows(self, node: int) -> bool:
        return self.grows[self.cluster[self.label[node]]]

    def _reach(self, node: int, now: float) -> float:
        return self.radius[node] + (now - self.noted[node] if self._grows(node) else 0.0)

    def _uncovered(self, edge: int, now: float) -> float:
        left, right = self.ends[edge]
        return self.costs[edge] - self._reach(left, now) - self._reach(right, now)

    def _plan_around(self, node: int, now: float) -> None:
        for edge in self.touching[self.starts[node] : self.starts[node + 1]].tolist():
            self._plan(edge, now)

    def _plan(self, edge: int, now: float) -> None:
        """Note when an edge will be covered if both its ends go on as they do now."""
        left, right = self.ends[edge]
        rate = self._grows(left) + self._grows(right)
        if rate and self.label[left] != self.label[right]:
            at = now + max(self._uncovered(edge, now), 0.0) / rate
            heapq.heappush(self.covers, (round(at, _DECIMALS), edge))

    def _is_covered(self, edge: int, now: float) -> bool:
        """Whether an edge joins two clusters, one growing; one not covered yet is planned anew."""
        left, right = self.ends[edge]
        if self.label[left] == self.label[right] or not (self._grows(left) or self._grows(right)):
            return False
        if self._uncovered(edge, now) <= _SLACK:
            return True
        self._plan(edge, now)
        return False

    def _rest(self, now: float, cluster: int) -> None:
        """The prize of a cluster is used up: it grows no more."""
        for node in self.members[self.label_of[cluster]]:
            self.radius[node], self.noted[node] = self._reach(node, now), now
        self._stop(cluster, now)

    def _stop(self, cluster: int, now: float) -> None:
        self.grows[cluster] = False
        self.moats[cluster] += now - self.began[cluster]

    def _join(self, edge: int, now: float) -> _Joined:
        """Make one growing cluster of the two at the ends of an edge; one at rest wakes up."""
        growing, reached = self.ends[edge]
        if not self._grows(growing):
            growing, reached = reached, growing
        parts = [self.cluster[self.label[node]] for node in (growing, reached)]
        woken = [] if self.grows[parts[1]] else list(self.members[self.label[reached]])
        new = len(self.grows)
        for part in parts:
            if self.grows[part]:
                self._stop(part, now)
            self.parent[part] = new
        self._new_cluster(parts, self._one_label(growing, reached), now)
        for node in woken:
            self.noted[node] = now
        for node in woken:
            self._plan_around(node, now)
        return _Joined(edge, growing, reached, parts[1] if woken else -1)

    def _one_label(self, node: int, other: int) -> int:
        """Give the nodes of the smaller label that of the larger, which is returned."""
        small, large = sorted(
            (self.label[node], self.label[other]), key=lambda label: len(self.members[label])
        )
        for member in self.members[small]:
            self.label[member] = large
        self.members[large] += self.members[small]
        self.members[small] = []
        return large

    def _new_cluster(self, parts: list[int], label: int, now: float) -> None:
        self.cluster[label] = len(self.grows)
        self.label_of.append(label)
        self.prize.append(sum(self.prize[part] for part in parts))
        self.moats.append(sum(self.moats[part] for part in parts))
        self.grows.append(True)
        self.began.append(now)
        self.parent.append(-1)
        self.needed.append(False)
        rests = now + self.prize[-1] - self.moats[-1]
        heapq.heappush(self.rests, (round(rests, _DECIMALS), len(self.grows) - 1))
