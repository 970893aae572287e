"""Node operators: from names or nodes to ranked nodes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pagerank import personalised_pagerank
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import FloatArray, Mentions, Node, NodeScores, Ranked, unique

Damping = Annotated[float, Field(ge=0, lt=1)]
Reset = Literal["specificity", "uniform", "similarity"]


@operator("node.link", unordered="the order of the names")
def link(
    mentions: Mentions,
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    dedupe: bool = False,
) -> Ranked[Node]:
    """The most similar node of each name, in the order of the names.

    Score: cosine, -1..1. A node may come twice unless `dedupe`; names whose best node is below
    `min_score` are left out. No names give no nodes.
    Source: Zhou et al. 2025, section 6.1, "Link".
    """
    (found,) = link_batched(
        [mentions],
        node_index=node_index,
        embedder=embedder,
        min_score=min_score,
        dedupe=dedupe,
    )
    return found


@operator.batched("node.link")
def link_batched(
    mentions: list[Mentions],
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    min_score: float = -1.0,
    dedupe: bool = False,
) -> list[Ranked[Node]]:
    """The linked nodes of many questions, with one call of the embedder."""
    names = [name for one in mentions for name in one.names]
    vectors = embedder.encode(names, kind="question") if names else np.zeros((0, 1), np.float32)
    hits = iter(node_index.search(vectors, 1))
    linked = []
    for one in mentions:
        best = [hit for hit in (next(hits) for _ in one.names) if len(hit)]
        rows = [(int(hit.ids[0]), float(hit.scores[0])) for hit in best]
        rows = [row for row in rows if row[1] >= min_score]
        if dedupe:
            first = {node: score for node, score in reversed(rows)}
            rows = [(node, first[node]) for node in unique([node for node, _ in rows])]
        linked.append(
            Ranked[Node](
                np.array([node for node, _ in rows], np.int64), np.array([s for _, s in rows])
            )
        )
    return linked


@operator("node.ppr")
def ppr(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    reset: Reset = "specificity",
    top_k: PositiveInt = 4,
    tolerance: Annotated[float, Field(gt=0)] = 1e-10,
) -> tuple[Ranked[Node], NodeScores]:
    """The best nodes by personalised PageRank from the given nodes, and the mass of every node.

    Mass sums to 1. `damping` is the chance that the walk goes on (1 - restart): HippoRAG's paper
    0.5, the released code of Zhou et al. 0.1. The walk follows pairs of nodes by weight, synonymy
    edges included. `reset` weighs a start node by 1 / its number of chunks, counted through its
    relationships and 1 where there is none (`specificity`, HippoRAG; a node given twice counts
    once), by 1 (`uniform`), or by its score, negative ones as 0 (`similarity`, FastGraphRAG).
    Without nodes the reset is uniform over all nodes.
    Source: Zhou et al. 2025, section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), section 2.3.
    """
    (found,) = ppr_batched(
        [nodes], graph=graph, damping=damping, reset=reset, top_k=top_k, tolerance=tolerance
    )
    return found


@operator.batched("node.ppr")
def ppr_batched(
    nodes: list[Ranked[Node]],
    *,
    graph: Graph,
    damping: float = 0.5,
    reset: Reset = "specificity",
    top_k: int = 4,
    tolerance: float = 1e-10,
) -> list[tuple[Ranked[Node], NodeScores]]:
    """PageRank for many questions in one product of the transition matrix."""
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
