"""Rank nodes by personalised PageRank."""

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
    """Return the nodes with the highest personalised PageRank, and the mass of every node.

    Score: the PageRank mass, which sums to 1 over all nodes. The walk restarts at the given nodes,
    or, if there are none, at all nodes with equal probability. It follows edges, including synonymy
    edges, in proportion to their weight; without `weighted` all edges have equal weight.
    `damping` is the probability of continuing the walk (1 - restart): 0.5 in HippoRAG's paper, 0.1
    in the released code of Zhou et al. `reset` says how a start node is weighted: by 1 / (number of
    chunks that state one of its relationships) (`specificity`, HippoRAG), by 1 (`uniform`), or by
    its score, at least 0 (`similarity`, FastGraphRAG). A duplicate node counts once. Nodes with
    less mass than `min_mass` are not returned. With `keep_scores="best"` the mass of every node
    that is not returned is set to 0.
    The mass is exact in a graph of up to 200,000 nodes, and in any graph if the walk restarts at
    all nodes. Otherwise a push algorithm approximates it: the error of a node is at most 2e-6 times
    its strength (summed weight) over the mean strength; nodes that the walk cannot reach have 0.
    Source: Zhou et al. 2025, section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), section 2.3.
    """
    resets, results = [], []
    for seeds in nodes:
        rows, weights = best_score_by_id(seeds.ids, seeds.scores, least=0.0)
        if reset == "specificity":
            weights = 1.0 / np.maximum(graph.chunks_per_node[rows], 1)
        resets.append(Reset(rows, np.ones(len(rows)) if reset == "uniform" else weights))
    for mass in masses(walk_of_nodes(graph, weighted=weighted), resets, damping, top_k):
        scores = (
            NodeScores(mass.values)
            if mass.rows is None
            else NodeScores.sparse(mass.rows, mass.values, graph.n_nodes)
        )
        best = scores.top(top_k)
        best = best.take(best.scores >= min_mass)
        if keep_scores == "best":
            scores = NodeScores.sparse(best.ids, best.scores, graph.n_nodes)
        results.append((best, scores))
    return results
