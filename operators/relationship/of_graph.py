"""Rank the relationships of given nodes, or all relationships, by values of their two nodes."""

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.values import (
    DECIMALS,
    FloatArray,
    IntArray,
    Node,
    NodeScores,
    Ranked,
    Relationship,
    RelationshipScores,
    best_rows,
    unique,
)


def degrees_of_ends(graph: Graph, rows: IntArray) -> IntArray:
    """Return the degree of the head plus the degree of the tail for each relationship."""
    degree = graph.degree
    return np.asarray(degree[graph.source[rows]] + degree[graph.target[rows]], np.int64)


def by_degree_and_weight(graph: Graph, rows: IntArray, ties: IntArray) -> IntArray:
    """Return the positions in `rows` that sort the relationships.

    They are sorted by `degrees_of_ends`, then by weight, both highest first, then by `ties`.
    """
    weight = np.round(graph.weight[rows], DECIMALS)
    return np.lexsort((ties, -weight, -degrees_of_ends(graph, rows)))


@operator(
    "relationship.onehop",
    table3="Onehop",
    order="the degree of both ends, then weight; with links, see order",
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
    """Rank the relationships of the given nodes by the degrees of head and tail.

    Score: the sum of the degrees of head and tail; a degree is the number of neighbours. Ties by
    higher weight, then by lower id, or with `ties="nodes"` by the order of the nodes.
    `order="links"` puts relationships between two given nodes first. Every other relationship leads
    to a node that is not given; these are ranked by the number of given nodes adjacent to that
    node, ties by degree, then by lower id. Of these at most `per_node` times the number of given
    nodes are returned.
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


@operator("relationship.aggregator", table3="Aggregator")
def aggregator(
    node_scores: NodeScores,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
    keep_scores: Literal["all", "best"] = "all",
) -> tuple[Ranked[Relationship], RelationshipScores]:
    """Rank relationships by the scores of their two nodes; return all relationship scores too.

    Score: score(source) + score(target). With `unit="pair"` the ranking has only the first of
    parallel relationships; with `unit="fact"` it has each of them. The scores of all relationships
    are computed on access. With `keep_scores="best"` relationships of score 0 are not returned, and
    every relationship that is not returned gets the score 0.
    Source: Zhou et al. 2025, section 6.1, relationship "Aggregator".
    """

    def read() -> FloatArray:
        values = node_scores.values
        return np.asarray(values[graph.source] + values[graph.target], np.float64)

    scores = read()
    every = RelationshipScores.later(read, graph.n_relationships)
    if unit == "fact":
        best = Ranked[Relationship].top(scores, top_k)
    else:
        first = graph.pairs.first
        best = best_rows(first, scores[first], top_k)
    if keep_scores == "best":
        best = best.take(best.scores > 0)
        every = RelationshipScores.sparse(best.ids, best.scores, graph.n_relationships)
    return best, every
