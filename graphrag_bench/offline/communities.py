"""Graph to communities by hierarchical Leiden: communities, and communities within large ones."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.columns import incidence
from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import IntArray


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
    view = _view(graph)
    waiting = _components(view, use_lcc)
    found: list[tuple[int, int, IntArray]] = []
    level, parents = 0, [-1] * len(waiting)
    while waiting:
        first = len(found)
        for members, parent in zip(waiting, parents, strict=True):
            parts = _partition(view, members, resolution, seed)
            if level == 0 or len(parts) > 1:
                found += [(level, parent, part) for part in parts]
        fresh = range(first, len(found))
        parents = [row for row in fresh if len(found[row][2]) > max_cluster_size]
        waiting = [found[row][2] for row in parents]
        level += 1
    return _communities(found, graph)


def _view(graph: Graph) -> Any:
    """The pairs of positive weight as an igraph.Graph over all nodes, without self-loops."""
    import igraph

    pairs = graph.pairs
    keep = (pairs.weight > 0) & (pairs.source != pairs.target)
    ends = np.stack([pairs.source[keep], pairs.target[keep]], axis=1)
    view = igraph.Graph(n=graph.n_nodes, edges=ends.tolist())
    view.es["weight"] = pairs.weight[keep].tolist()
    return view


def _components(view: Any, use_lcc: bool) -> list[IntArray]:
    """The nodes of each component of two nodes or more, sorted, in order of the lowest."""
    found = [np.sort(np.array(part, np.int64)) for part in view.connected_components()]
    found = sorted((part for part in found if len(part) > 1), key=lambda part: int(part[0]))
    return [max(found, key=len)] if use_lcc and found else found


def _partition(view: Any, members: IntArray, resolution: float, seed: int) -> list[IntArray]:
    """The communities of the subgraph of these nodes, each sorted, in order of the lowest node."""
    import leidenalg

    part = view.induced_subgraph(members.tolist())
    made = leidenalg.find_partition(
        part,
        leidenalg.RBConfigurationVertexPartition,
        weights="weight",
        n_iterations=-1,
        seed=seed,
        resolution_parameter=resolution,
    )
    inside = (members[np.sort(np.array(community, np.int64))] for community in made if community)
    return sorted(inside, key=lambda community: int(community[0]))


def _communities(found: list[tuple[int, int, IntArray]], graph: Graph) -> Communities:
    nodes = incidence((members.tolist() for _, _, members in found), graph.n_nodes)
    chunks = (nodes.astype(np.int64) @ graph.node_chunk.astype(np.int64)).astype(bool).tocsr()
    chunks.sort_indices()
    level = np.array([level for level, _, _ in found], np.int64)
    parent = np.array([parent for _, parent, _ in found], np.int64)
    return Communities(level, parent, nodes, chunks)
