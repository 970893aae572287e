"""Relationships at nodes."""

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.values import IntArray, Node, Ranked, Relationship, unique
from operators.relationship.vdb import by_degree_and_weight, degrees_of_ends


@operator(
    "relationship.onehop",
    table3="Onehop",
    unordered="the degree of both ends, then weight; with links, see order",
)
def onehop(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    top_k: PositiveInt | None = None,
    ties: Literal["id", "nodes"] = "id",
    order: Literal["degree", "links"] = "degree",
    per_node: PositiveInt | None = None,
) -> Ranked[Relationship]:
    """The relationships that one of the nodes is an end of, each once, the best joined first.

    Score: the sum of the degrees of both ends, a degree being the number of other nodes that a
    node is joined to. Ties by higher weight, then by lower id, or with `ties="nodes"` in the order
    of the nodes, and by lower id at each; `top_k` cuts the end of the list. With `order="links"`
    those between two of the nodes come first, then those that lead out, by the number of the nodes
    that their outer end is joined to, at most `per_node` of them for each node; both by degree,
    then by lower id.
    Source: Zhou et al. 2025, section 6.1, relationship "Onehop"; `nodes` as LightRAG's released
    code, version 1.5.7; `links` as Microsoft GraphRAG's local search (`local_context.py`).
    """
    if ties == "id":
        rows = graph.relationships_at(nodes.ids)
    else:
        at = [row_ids(graph.node_relationship, node) for node in nodes.ids.tolist()]
        rows = np.array(unique([row for one in at for row in one.tolist()]), np.int64)
    ranked = Ranked[Relationship](rows, degrees_of_ends(graph, rows).astype(np.float64))
    if order == "links":
        most = None if per_node is None else per_node * len(nodes)
        return ranked.take(_inside_first(graph, nodes.ids, rows, most)).head(top_k)
    among = rows if ties == "id" else np.arange(len(rows))
    return ranked.take(by_degree_and_weight(graph, rows, among)).head(top_k)


def _inside_first(graph: Graph, nodes: IntArray, rows: IntArray, most: int | None) -> IntArray:
    inward = np.isin(graph.source[rows], nodes)
    outward = ~(inward & np.isin(graph.target[rows], nodes))
    inner = np.where(inward, graph.source[rows], graph.target[rows])
    outer = np.where(inward, graph.target[rows], graph.source[rows])
    joined = np.unique(np.stack([outer, inner])[:, outward], axis=1)
    links = np.bincount(joined[0], minlength=graph.n_nodes)[outer] * outward
    ordered = np.lexsort((rows, -degrees_of_ends(graph, rows), -links, outward))
    n_inside = int(np.count_nonzero(~outward))
    return ordered if most is None else ordered[: n_inside + most]
