"""Operators that rank the relationships of given nodes, or all relationships of the graph."""

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
    """For each relationship, return the degree of its head plus the degree of its tail."""
    degree = graph.degree
    return np.asarray(degree[graph.source[rows]] + degree[graph.target[rows]], np.int64)


def by_degree_and_weight(graph: Graph, rows: IntArray, ties: IntArray) -> IntArray:
    """Sort relationships by summed degree of head and tail, and return their positions in `rows`.

    The highest sum is first. Ties are broken by higher weight, then by lower values in `ties`.
    """
    weight = np.round(graph.weight[rows], DECIMALS)
    return np.lexsort((ties, -weight, -degrees_of_ends(graph, rows)))


@operator("relationship.onehop", table3="Onehop", order="by degree, then weight, or by links")
def onehop(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    top_k: PositiveInt | None = None,
    ties: Literal["id", "nodes"] = "id",
    order: Literal["degree", "links"] = "degree",
    per_node: PositiveInt | None = None,
) -> Ranked[Relationship]:
    """Rank the relationships of the given nodes by the summed degree of head and tail.

    This sum of degrees is the score. The degree of a node is its number of neighbours. Ties are
    broken by higher weight, then by lower id. With `ties="nodes"`, as in LightRAG 1.5.7, they are
    broken by higher weight, then by the order of the given nodes.
    `order="links"` sorts as local search in Microsoft GraphRAG does. Relationships between two
    given nodes come first. Every other relationship has an end that was not given. These
    relationships are sorted by the number of given nodes adjacent to this end, then by score. If
    `per_node` is set and n nodes are given, at most `per_node` * n of these relationships are kept.
    Source: Zhou et al. (2025), Section 6.1, relationship "Onehop".
    """
    if ties == "id":
        rows = graph.relationships_at(nodes.ids)
    else:
        at = [row_ids(graph.node_relationship, node) for node in nodes.ids.tolist()]
        rows = np.array(unique([row for one in at for row in one.tolist()]), np.int64)
    degrees = degrees_of_ends(graph, rows)
    ranked = Ranked[Relationship](rows, degrees.astype(np.float64))
    if order == "degree":
        among = rows if ties == "id" else np.arange(len(rows))
        return ranked.take(by_degree_and_weight(graph, rows, among)).head(top_k)
    ends = graph.source[rows], graph.target[rows]
    inward = np.isin(ends[0], nodes.ids)
    outward = ~(inward & np.isin(ends[1], nodes.ids))
    inner, outer = np.where(inward, *ends), np.where(inward, *ends[::-1])
    joined = np.unique(np.stack([outer, inner])[:, outward], axis=1)
    links = np.bincount(joined[0], minlength=graph.n_nodes)[outer] * outward
    ranked = ranked.take(np.lexsort((rows, -degrees, -links, outward)))
    if per_node is not None:
        ranked = ranked.head(int((~outward).sum()) + per_node * len(nodes))
    return ranked.head(top_k)


@operator("relationship.aggregator", table3="Aggregator")
def aggregator(
    node_scores: NodeScores,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
    keep_scores: Literal["all", "best"] = "all",
) -> tuple[Ranked[Relationship], RelationshipScores]:
    """Rank all relationships by the score of the source node plus the score of the target node.

    With `unit="pair"`, only the first of several relationships between the same two nodes is
    ranked. The scores of all relationships are also returned, and computed only when they are read.
    With `keep_scores="best"`, relationships with score 0 are not ranked, and every relationship
    that is not ranked gets the score 0.
    Source: Zhou et al. (2025), Section 6.1, relationship "Aggregator".
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
