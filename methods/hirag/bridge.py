"""HiRAG's bridge: key entities of communities, and the relationships on the way through them."""

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.paths import path_through
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.values import DECIMALS, Community, Node, Ranked, Relationship, Subgraph, unique


@operator("node.key", unordered="community by community")
def key(
    nodes: Ranked[Node],
    ranked_communities: Ranked[Community],
    *,
    communities: Communities,
    per_community: PositiveInt = 10,
) -> Ranked[Node]:
    """The first `per_community` of the nodes that each community holds, each node once.

    The communities in their order, the nodes of each in theirs; scores as given.
    Source: HiRAG (Huang et al. 2025), key entities; its release (`top_m`).
    Deviation: the release puts them into a Python set, whose order depends on the process.
    """
    score = dict(nodes.items())
    chosen: list[int] = []
    for community in ranked_communities.ids.tolist():
        inside = np.isin(nodes.ids, row_ids(communities.nodes, community))
        chosen += nodes.ids[inside][:per_community].tolist()
    return Ranked.of({node: score[node] for node in unique(chosen)})


@operator("relationship.bridge", unordered="the degree of both ends, then weight")
def bridge(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    max_hops: PositiveInt | None = None,
    top_k: PositiveInt | None = None,
) -> tuple[Ranked[Relationship], Subgraph]:
    """The relationships among the nodes on the way through the given ones, and that way.

    The way leads from each node to the next by the fewest hops, ties through lower ids, and starts
    anew where the next is more than `max_hops` away (None: not to be reached). Score: the sum of
    the degrees of both ends; ties by higher weight, then by lower id; `top_k` cuts the end.
    Source: HiRAG (Huang et al. 2025), reasoning path and bridge; its release.
    """
    paths = path_through(graph, nodes.ids.tolist(), max_hops)
    along = np.unique(np.array([node for path in paths for node in path.nodes], np.int64))
    rows = graph.relationships_at(along)
    rows = rows[np.isin(graph.source[rows], along) & np.isin(graph.target[rows], along)]
    degree = graph.degree
    score = (degree[graph.source[rows]] + degree[graph.target[rows]]).astype(np.float64)
    order = np.lexsort((rows, -np.round(graph.weight[rows], DECIMALS), -score))[:top_k]
    hops = unique([row for path in paths for row in path.relationships])
    way = Subgraph(unique([node for path in paths for node in path.nodes]), hops, tuple(paths))
    return Ranked(rows[order], score[order]), way
