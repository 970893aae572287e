"""Nodes by personalised PageRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pagerank import personalised_pagerank
from graphrag_bench.values import FloatArray, Node, NodeScores, Ranked

Damping = Annotated[float, Field(ge=0, lt=1)]
Reset = Literal["specificity", "uniform", "similarity"]


@operator("node.ppr", batched=True)
def ppr(
    nodes: Sequence[Ranked[Node]],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    reset: Reset = "specificity",
    top_k: PositiveInt = 4,
    tolerance: Annotated[float, Field(gt=0)] = 1e-10,
) -> list[tuple[Ranked[Node], NodeScores]]:
    """The best nodes by personalised PageRank from the given nodes, and the mass of every node.

    Mass sums to 1. `damping` is the probability of continuing the walk (1 - restart): 0.5 in
    HippoRAG's paper, 0.1 in the released code of Zhou et al. The walk follows pairs of nodes by
    weight, synonymy edges included. `reset` weighs a start node by 1 / its number of chunks,
    counted through its relationships and 1 where there is none (`specificity`, HippoRAG; a node
    given twice counts once), by 1 (`uniform`), or by its score, negative ones as 0 (`similarity`,
    FastGraphRAG). Without nodes the reset is uniform over all nodes.
    Source: Zhou et al. 2025, section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), section 2.3.
    """
    restart = np.zeros((graph.n_nodes, len(nodes)))
    for column, seeds in enumerate(nodes):
        restart[seeds.ids, column] = _weights(seeds, graph, reset)
    mass = personalised_pagerank(graph.transition, restart, damping, tolerance)
    columns = [np.ascontiguousarray(mass[:, column]) for column in range(len(nodes))]
    return [(Ranked[Node].top(column, top_k), NodeScores(column)) for column in columns]


def _weights(seeds: Ranked[Node], graph: Graph, reset: Reset) -> FloatArray:
    if reset == "specificity":
        return 1.0 / np.maximum(graph.chunks_per_node[seeds.ids], 1)
    if reset == "uniform":
        return np.ones(len(seeds))
    best = np.zeros(graph.n_nodes)
    np.maximum.at(best, seeds.ids, seeds.scores)
    return best[seeds.ids]
