"""Nodes by personalised PageRank, and the weights that a walk restarts with."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import How, Method, Reset, masses, walk_of_nodes
from graphrag_bench.contract import operator
from graphrag_bench.values import FloatArray, Node, NodeScores, Ranked, best_of, best_of_each

Damping = Annotated[float, Field(ge=0, lt=1)]
Weights = Literal["specificity", "uniform", "similarity"]
HandedOn = Literal["all", "best"]


@operator("node.ppr", table3="PPR", batched=True)
def ppr(
    nodes: Sequence[Ranked[Node]],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    reset: Weights = "specificity",
    top_k: PositiveInt = 4,
    tolerance: Annotated[float, Field(gt=0)] = 1e-10,
    method: Method = "auto",
    exact_up_to: PositiveInt = 200_000,
    error: Annotated[float, Field(gt=0)] = 2e-6,
    weighted: bool = True,
    min_mass: Annotated[float, Field(ge=0, le=1)] = 0.0,
    handed_on: HandedOn = "all",
) -> list[tuple[Ranked[Node], NodeScores]]:
    """The best nodes by personalised PageRank from the given nodes, and the mass of every node.

    Mass sums to 1. `damping` is the probability of continuing the walk (1 - restart): 0.5 in
    HippoRAG's paper, 0.1 in the released code of Zhou et al. The walk follows pairs of nodes by
    weight, synonymy edges included. `reset` weighs a start node by 1 / its number of chunks,
    counted through its relationships and 1 where there is none (`specificity`, HippoRAG; a node
    given twice counts once), by 1 (`uniform`), or by its score, negative ones as 0 (`similarity`,
    FastGraphRAG). Without nodes the reset is uniform over all nodes.
    `method="auto"` is `exact` in a graph of up to `exact_up_to` nodes and `push` in a larger one:
    the mass of a node is then off by at most `error` times its strength (summed weight) in units
    of the mean strength, nodes that the push does not reach have 0, and mass sums to about 1. A
    uniform reset is always exact. `exact` holds one vector of all nodes for
    each question. Without `weighted` all pairs count alike. Nodes whose mass is below `min_mass`
    are not among the best; with `handed_on="best"` nodes that are not have 0 in the second value.
    Source: Zhou et al. 2025, section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), section 2.3.
    """
    resets = [_reset(seeds, graph, reset) for seeds in nodes]
    how = How(damping, tolerance, method, exact_up_to, error)
    results = []
    for mass in masses(walk_of_nodes(graph, weighted=weighted), resets, how, top_k):
        scores = (
            NodeScores(mass.values)
            if mass.rows is None
            else NodeScores.sparse(mass.rows, mass.values, graph.n_nodes)
        )
        best = scores.top(top_k)
        best = best.take(best.scores >= min_mass)
        if handed_on == "best":
            scores = NodeScores.sparse(best.ids, best.scores, graph.n_nodes)
        results.append((best, scores))
    return results


def _reset(seeds: Ranked[Node], graph: Graph, reset: Weights) -> Reset:
    rows, best = best_of_each(seeds.ids, seeds.scores, least=0.0)
    if reset == "specificity":
        return Reset(rows, 1.0 / np.maximum(graph.chunks_per_node[rows], 1))
    return Reset(rows, best if reset == "similarity" else np.ones(len(rows)))


@operator("node.specificity")
def specificity(
    nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Node]:
    """The given nodes by their score divided by the number of chunks that they are in.

    For a node given twice the best score counts. Chunks are counted through relationships, as 1
    where there is none. Ties by lower id.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, node specificity; HippoRAG 2 (2025),
    section 3.4, which starts its walk at the best 5.
    """
    ids, best = best_of_each(nodes.ids, nodes.scores)
    specific = best / np.maximum(graph.chunks_per_node[ids], 1)
    return best_of(ids, specific, len(ids) if top_k is None else top_k)


@operator("node.restart")
def node_restart(nodes: Ranked[Node], *, graph: Graph) -> Ranked[Node]:
    """The given nodes by their score divided by the number of chunks that they are in, sum 1.

    Each comes once; of a node given twice the best score counts, negative ones count as 0. Where
    all scores are 0 they stay so. Chunks are those of the node itself, 1 where there is none. Ties
    by lower id.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, node specificity; the sum is ours.
    """
    rows, best = best_of_each(nodes.ids, nodes.scores, least=0.0)
    inside = graph.node_chunk.indptr
    shares = with_sum_one(best / np.maximum(inside[rows + 1] - inside[rows], 1))
    return best_of(rows, shares, len(rows))


def with_sum_one(weights: FloatArray) -> FloatArray:
    """Return the weights divided by their sum; unchanged where it is 0."""
    total = float(weights.sum())
    return weights / total if total > 0 else weights
