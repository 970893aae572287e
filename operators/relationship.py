"""Relationship operators: from nodes or their scores to ranked relationships."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import NodeScores, Ranked, Relationship, RelationshipScores


@operator("relationship.aggregator")
def aggregator(
    node_scores: NodeScores,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
) -> tuple[Ranked[Relationship], RelationshipScores]:
    """The best relationships by the scores of their ends, and the score of every relationship.

    Score of a row: score(source) + score(target). With `unit="pair"` the best `top_k` pairs of
    nodes are given, each by its first row; with `fact` every row stands for itself.
    Source: Zhou et al. 2025, section 6.1, relationship "Aggregator".
    """
    scores = node_scores.values[graph.source] + node_scores.values[graph.target]
    among = graph.pairs.first if unit == "pair" else np.arange(graph.n_relationships)
    return Ranked[Relationship].top(scores, top_k, among=among), RelationshipScores(scores)
