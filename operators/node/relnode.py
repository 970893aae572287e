"""Nodes at the ends of relationships."""

from statistics import fmean
from typing import Literal

from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, Ranked, Relationship


@operator(
    "node.relnode",
    table3="RelNode",
    unordered="the order of the relationships, source before target",
)
def relnode(
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    score: Literal["best", "mean"] = "best",
    top_k: PositiveInt | None = None,
) -> Ranked[Node]:
    """The ends of the relationships, each once, in order of first appearance, source first.

    Score: the best, or the mean, of the scores of the relationships that the node ends. `top_k`
    cuts the end of the list.
    Source: Zhou et al. 2025, section 6.1, node "RelNode" ("FromRel" in their table 3); the mean is
    that of HippoRAG 2 (Gutierrez et al. 2025), section 3.4.
    """
    scores_of: dict[int, list[float]] = {}
    for row, value in relationships.items():
        for node in (int(graph.source[row]), int(graph.target[row])):
            scores_of.setdefault(node, []).append(value)
    of_all = max if score == "best" else fmean
    best = {node: float(of_all(values)) for node, values in scores_of.items()}
    return Ranked[Node].of(best).head(top_k)
