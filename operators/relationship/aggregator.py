"""Relationships by the scores of the nodes that they join."""

from functools import partial
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import (
    FloatArray,
    NodeScores,
    Ranked,
    Relationship,
    RelationshipScores,
    best_of,
)


@operator("relationship.aggregator", table3="Aggregator")
def aggregator(
    node_scores: NodeScores,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
    handed_on: Literal["all", "best"] = "all",
) -> tuple[Ranked[Relationship], RelationshipScores]:
    """The best relationships by the scores of their ends, and the score of every relationship.

    Score of a row: score(source) + score(target). With `unit="pair"` the best `top_k` pairs of
    nodes are given, each by its first row; with `fact` every row counts by itself. The score of
    every relationship is computed when it is read, so that a block of questions holds none. With
    `handed_on="best"` rows of score 0 are not among the best, and rows that are not have score 0.
    Source: Zhou et al. 2025, section 6.1, relationship "Aggregator".
    """
    read = partial(_ends, node_scores, graph)
    scores = read()
    every = RelationshipScores.later(read, graph.n_relationships)
    if unit == "fact":
        best = Ranked[Relationship].top(scores, top_k)
    else:
        first = graph.pairs.first
        best = best_of(first, scores[first], top_k)
    if handed_on == "best":
        best = best.take(best.scores > 0)
        every = RelationshipScores.sparse(best.ids, best.scores, graph.n_relationships)
    return best, every


def _ends(node_scores: NodeScores, graph: Graph) -> FloatArray:
    scores = node_scores.values
    return np.asarray(scores[graph.source] + scores[graph.target], np.float64)
