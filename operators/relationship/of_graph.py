"""Operators that rank the relationships of given nodes, all relationships, or those on paths."""

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray, best_first, best_score_by_id
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, NodeScores, Ranked, Relationship, RelationshipScores


def degrees_of_ends(graph: Graph, rows: IntArray) -> IntArray:
    """For each relationship, return the degree of its head plus the degree of its tail."""
    return graph.degree[graph.source[rows]] + graph.degree[graph.target[rows]]


def by_degree_and_weight(graph: Graph, rows: IntArray, ties: IntArray) -> IntArray:
    """Return positions in `rows`, sorted by `degrees_of_ends` and then weight, highest first.

    Remaining ties are broken by the lower value in `ties`.
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
    given nodes come first. Relationships with one given node follow, sorted by the number of given
    nodes that are neighbours of the other end, then by score. Of the second group, at most
    `per_node` * n relationships are kept for n given nodes.
    Source: Zhou et al. (2025), Section 6.1, relationship "Onehop".
    """
    if ties == "id":
        rows = graph.relationships_at(nodes.ids)
    else:
        at = graph.node_relationship[nodes.ids].indices.tolist()
        rows = np.array(list(dict.fromkeys(at)), np.int64)
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
    ranked. The scores of all relationships are also returned. With `keep_scores="best"`,
    relationships with score 0 are not ranked, and every unranked relationship gets the score 0.
    Source: Zhou et al. (2025), Section 6.1, relationship "Aggregator".
    """

    def read() -> FloatArray:
        values = node_scores.values
        return np.asarray(values[graph.source] + values[graph.target], np.float64)

    scores = read()
    every = RelationshipScores.later(read, graph.n_relationships)
    rows = graph.pairs.first if unit == "pair" else np.arange(graph.n_relationships)
    best = Ranked[Relationship].best(rows, scores[rows], top_k)
    if keep_scores == "best":
        best = best.take(best.scores > 0)
        every = RelationshipScores.sparse(best.ids, best.scores, graph.n_relationships)
    return best, every


def _not_zero(a: float) -> float:
    if not a:
        raise ValueError("must not be 0")
    return a


@operator("path.pool", order="pooled score, lowest first; lost_in_middle: highest at both ends")
def pool(
    relationships: Ranked[Relationship],
    entities: Ranked[Node],
    *,
    graph: Graph,
    search: Literal["dijkstra", "bfs", "random_walk"] = "dijkstra",
    pooling: Literal["mean", "max"] = "mean",
    a: Annotated[float, AfterValidator(_not_zero)] = 1.0,
    sources: Literal["set", "per_entity"] = "set",
    mode: Literal["rerank", "reselect"] = "rerank",
    order: Literal["recency", "lost_in_middle", "best_first"] = "recency",
    scores: Literal["as_given", "cosine"] = "as_given",
    coarse_k: PositiveInt = 500,
    top_k: PositiveInt | None = None,
    seed: int = 0,
) -> Ranked[Relationship]:
    """Rerank relationships by scores pooled over the paths that start at entities of the question.

    Paths consist of given relationships and follow their direction. The base score of a
    relationship is its given score, or (1 + score) / 2 with `scores="cosine"`. Negative base scores
    count as 0. If a relationship is given twice, its best score counts. For pooled scores, see
    `algorithms.path_pooling.pool_scores`. `mode="rerank"` keeps the `top_k` relationships with the
    best base scores and sorts them by pooled score. `mode="reselect"` pools the scores of the
    `coarse_k` relationships with the best base scores, then keeps the `top_k` with the best pooled
    scores. Ties are broken by base score, then by lower id. The best relationships come last with
    `order="recency"`, first with `order="best_first"`, and at both ends with
    `order="lost_in_middle"` (1 3 5 4 2).
    Source: path pooling (Wang et al. 2025), Sections 3.3, 3.4 and 4.3.
    """
    from graphrag_bench.algorithms.path_pooling import pool_scores, prompt_order

    base = relationships.scores if scores == "as_given" else (1 + relationships.scores) / 2
    rows, base = best_score_by_id(relationships.ids, base, least=0.0)
    most = best_first(base)[: coarse_k if mode == "reselect" else top_k]
    rows, base = rows[most], base[most]
    pooled_scores = pool_scores(
        graph.source[rows], graph.target[rows], base, entities.ids, search=search, a=a,
        pooling=pooling, sources=sources, rng=np.random.default_rng(seed),
    )  # fmt: skip
    places = prompt_order(best_first(pooled_scores)[:top_k], order)
    return Ranked(rows[places], pooled_scores[places])
