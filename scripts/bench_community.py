"""Our hierarchy of communities against raw leidenalg, which partitions the same graph once.

The seeded graph has 20,000 nodes and 100,000 relationships: most join nodes of one of 200 groups.
`ours` and `reference` are runs a second, the median of `N_REPEATS` that take turns; p50 and p95 are
ours in seconds. Both read the pairs from the stored columns, partition with the same resolution and
seed until nothing improves. `plain_leiden` makes
one level (`max_cluster_size` above all sizes): the partition must be the same. `hierarchy` splits
communities of more than 100 nodes again, against a loop of raw partitions of induced subgraphs:
the communities must be the same. `modularity` is that of the first level.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import igraph
import leidenalg
import numpy as np

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden

N_NODES, N_RELATIONSHIPS, N_GROUPS, N_REPEATS = 20_000, 100_000, 200, 3
INSIDE, LARGE, SEED = 0.9, 100, 7
Numbers = tuple[float, float, str, dict[str, float]]


@cache
def grouped() -> Graph:
    """A seeded graph in which `INSIDE` of the relationships join nodes of one group."""
    chance = np.random.default_rng(0)
    group = chance.integers(N_GROUPS, size=N_NODES)
    of_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=N_GROUPS)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    source = chance.integers(N_NODES, size=N_RELATIONSHIPS)
    near = of_group[starts[group[source]] + chance.integers(sizes[group[source]])]
    far = chance.integers(N_NODES, size=N_RELATIONSHIPS)
    target = np.where(chance.random(N_RELATIONSHIPS) < INSIDE, near, far)
    graph = Graph.from_arrays(source, target, n_nodes=N_NODES)
    _ = graph.pairs  # stored with a graph
    return graph


def in_turns(ours: Callable[[], Any], raw: Callable[[], Any]) -> Numbers:
    """Runs a second of both."""
    mine, other = [], []
    for _ in range(N_REPEATS):
        for call, times in ((ours, mine), (raw, other)):
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
    p50, p95 = (float(np.percentile(mine, part)) for part in (50, 95))
    return 1 / p50, 1 / statistics.median(other), "runs/s", {"p50": p50, "p95": p95}


def raw_view(graph: Graph) -> igraph.Graph:
    """The pairs as igraph has them, without self-loops."""
    pairs = graph.pairs
    keep = pairs.source != pairs.target
    ends = np.stack([pairs.source[keep], pairs.target[keep]], axis=1)
    view = igraph.Graph(n=graph.n_nodes, edges=ends)
    view.es["weight"] = pairs.weight[keep].tolist()
    return view


def raw_partition(view: igraph.Graph) -> Any:
    """One partition by leidenalg until nothing improves."""
    kind = leidenalg.RBConfigurationVertexPartition
    return leidenalg.find_partition(
        view, kind, weights="weight", n_iterations=-1, seed=SEED, resolution_parameter=1.0
    )


def raw_hierarchy(graph: Graph, largest: int) -> list[tuple[int, ...]]:
    """Nodes of the communities of all levels, those of more than `largest` nodes split again."""
    view = raw_view(graph)
    waiting = [sorted(part) for part in view.connected_components() if len(part) > 1]
    found: list[tuple[int, ...]] = []
    first = True
    while waiting:
        split = []
        for members in waiting:
            parts = raw_partition(view.induced_subgraph(members))
            if first or len(parts) > 1:
                split += [tuple(members[place] for place in sorted(part)) for part in parts]
        found += split
        waiting = [list(part) for part in split if len(part) > largest]
        first = False
    return found


def compared(largest: int) -> Numbers:
    """Our communities of at most `largest` nodes, and those of raw partitions."""
    graph = grouped()

    def ours() -> Communities:
        return leiden(graph=graph, max_cluster_size=largest, seed=SEED)

    made, raw = ours(), raw_hierarchy(graph, largest)
    starts, ids = made.nodes.indptr.tolist(), made.nodes.indices.tolist()
    held = [tuple(ids[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    if sorted(held) != sorted(raw):
        raise AssertionError("the communities differ from those of raw partitions")
    label = np.zeros(graph.n_nodes, np.int64)
    for row in np.flatnonzero(made.level == 0).tolist():
        label[ids[starts[row] : starts[row + 1]]] = row
    view = raw_view(graph)
    modularity = view.modularity(label.tolist(), weights="weight")
    *numbers, more = in_turns(ours, lambda: raw_hierarchy(graph, largest))
    told = {"communities": float(len(made)), "modularity": modularity}
    return numbers[0], numbers[1], numbers[2], more | told


CASES = {"plain_leiden": lambda: compared(N_NODES), "hierarchy": lambda: compared(LARGE)}
