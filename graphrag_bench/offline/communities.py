"""Graph to communities by hierarchical Leiden: communities, and communities within large ones."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
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

    def split(edges: Edges, groups: Groups) -> Split:
        found, part = _partitioned(edges, groups, resolution, seed)
        return found, part, np.zeros(len(found), bool)

    edges = Edges.of(graph)
    waiting = components(edges, use_lcc)
    return as_communities(hierarchy(edges, waiting, split, max_cluster_size), graph)


def _partitioned(
    edges: Edges, groups: Groups, resolution: float, seed: int
) -> tuple[Groups, IntArray]:
    """The communities of the subgraph of each group, and of each the group it is a part of.

    In order of the groups, then of the lowest node. `edges` are those within the groups.
    """
    starts = groups.starts
    label = np.empty(starts[-1], np.int64)
    n_labels = 0
    for row, (ends, weights) in enumerate(subgraphs(edges, groups)):
        of_group, size = slice(*starts[row : row + 2]), int(groups.sizes[row])
        label[of_group] = _partition(size, ends, weights, resolution, seed)
        label[of_group] += n_labels
        n_labels = int(label[of_group].max()) + 1
    return by_label(groups, label)


def _partition(
    n_nodes: int, ends: IntArray, weights: NDArray[np.object_], resolution: float, seed: int
) -> list[int]:
    import igraph
    import leidenalg

    made = leidenalg.find_partition(
        igraph.Graph(n=n_nodes, edges=ends),
        leidenalg.RBConfigurationVertexPartition,
        weights=weights.tolist(),
        n_iterations=-1,
        seed=seed,
        resolution_parameter=resolution,
    )
    membership: list[int] = made.membership
    return membership
