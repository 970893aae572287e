"""The operator that ranks nodes by personalised PageRank."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import Reset, masses, walk_of_nodes
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, NodeScores, Ranked, best_score_by_id

Damping = Annotated[float, Field(ge=0, lt=1)]


@operator("node.ppr", table3="PPR", batched=True)
def ppr(
    nodes: Sequence[Ranked[Node]],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    reset: Literal["specificity", "uniform", "similarity"] = "specificity",
    top_k: PositiveInt = 4,
    weighted: bool = True,
    min_mass: Annotated[float, Field(ge=0, le=1)] = 0.0,
    keep_scores: Literal["all", "best"] = "all",
) -> list[tuple[Ranked[Node], NodeScores]]:
    """Return the nodes with the highest personalised PageRank, and the PageRank of every node.

    The score is the PageRank of a node. The scores of all nodes sum to 1. The random walk restarts
    at the given nodes, or at all nodes if none is given, with probability 1 - `damping`. HippoRAG's
    paper uses `damping=0.5`, and the code of Zhou et al. uses 0.1. The walk follows edges,
    including synonymy edges, in proportion to their weights, or equally if not `weighted`.
    The setting `reset` selects the restart weight of a given node. With `specificity`, as in
    HippoRAG, it is 1 divided by the number of chunks that state a relationship of the node. With
    `uniform` it is 1. With `similarity`, as in FastGraphRAG, it is the node's score, at least 0. A
    node that is given twice counts once. Nodes with a PageRank below `min_mass` are not returned.
    With `keep_scores="best"`, the PageRank of every node that is not returned is set to 0.
    The PageRank is exact if the graph has at most 200,000 nodes or the walk restarts at all nodes.
    Otherwise a push algorithm approximates it. The error of a node is then at most 2e-6 times the
    summed weight of its edges divided by the mean of this sum. Unreachable nodes get 0.
    Source: Zhou et al. (2025), Section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), Section 2.3.
    """
    resets, results = [], []
    for seeds in nodes:
        rows, weights = best_score_by_id(seeds.ids, seeds.scores, least=0.0)
        if reset == "specificity":
            weights = 1.0 / np.maximum(graph.chunks_per_node[rows], 1)
        resets.append(Reset(rows, np.ones(len(rows)) if reset == "uniform" else weights))
    for mass in masses(walk_of_nodes(graph, weighted=weighted), resets, damping, top_k):
        scores = NodeScores(mass.values)
        if mass.rows is not None:
            scores = NodeScores.sparse(mass.rows, mass.values, graph.n_nodes)
        best = scores.top(top_k)
        best = best.take(best.scores >= min_mass)
        if keep_scores == "best":
            scores = NodeScores.sparse(best.ids, best.scores, graph.n_nodes)
        results.append((best, scores))
    return results
