"""Operators that rank nodes and chunks by personalised PageRank, and nodes by their specificity."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from graphrag_bench.algorithms import pagerank
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import best_score_by_id
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, ChunkScores, Node, NodeScores, Ranked

Damping = Annotated[float, Field(ge=0, lt=1)]


@operator("node.ppr", table3="PPR", batched=True)
def node_ppr(
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
    Otherwise a push algorithm approximates it. If s is the summed weight of a node's edges, the
    error of its PageRank is then at most 2e-6 * s / mean(s). Unreachable nodes get 0.
    Source: Zhou et al. (2025), Section 6.1, "PPR"; HippoRAG (Gutierrez et al. 2024), Section 2.3.
    """
    resets, results = [], []
    for seeds in nodes:
        rows, weights = best_score_by_id(seeds.ids, seeds.scores, least=0.0)
        if reset == "specificity":
            weights = 1.0 / np.maximum(graph.chunks_per_node[rows], 1)
        resets.append(pagerank.Reset(rows, np.ones(len(rows)) if reset == "uniform" else weights))
    walk = pagerank.walk_of_nodes(graph, weighted=weighted)
    for mass in pagerank.masses(walk, resets, damping, top_k):
        scores = NodeScores(mass.values)
        if mass.rows is not None:
            scores = NodeScores.sparse(mass.rows, mass.values, graph.n_nodes)
        best = scores.top(top_k)
        best = best.take(best.scores >= min_mass)
        if keep_scores == "best":
            scores = NodeScores.sparse(best.ids, best.scores, graph.n_nodes)
        results.append((best, scores))
    return results


@operator("chunk.ppr", batched=True)
def chunk_ppr(
    nodes: Sequence[Ranked[Node]],
    chunk_scores: Sequence[ChunkScores],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    passage_weight: NonNegativeFloat = 0.05,
    joined: Literal["relationships_and_chunks", "chunks"] = "relationships_and_chunks",
    contains: pagerank.Contains = "one",
    contains_weight: Annotated[float, Field(gt=0)] = 1.0,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """Return the chunks with the highest personalised PageRank in a graph of nodes and chunks.

    The random walk restarts with probability 1 - `damping`, at the given nodes and chunks. The
    restart weight of a node is its score. The restart weight of a chunk is its score times
    `passage_weight`. Negative scores count as 0. If a node is given twice, its best score counts.
    The score of a chunk is its PageRank divided by the PageRank of the best chunk (0..1).
    Each node has an edge to each chunk that contains it. The weight of this edge is
    `contains_weight`. With `contains="share"`, this weight is divided by the number of nodes in the
    chunk. Nodes are also joined by relationships and synonymy edges, unless `joined="chunks"`.
    The PageRank of more than 200,000 nodes and chunks is approximated as in `node.ppr`. Unreachable
    chunks get 0.
    Source: HippoRAG 2 (Gutierrez et al. 2025), Section 3.4 and the defaults of its code.
    """
    walk = pagerank.walk_with_chunks(
        graph, relationships=joined == "relationships_and_chunks", contains=contains,
        contains_weight=contains_weight,
    )  # fmt: skip
    rankings: list[Ranked[Chunk]] = []
    for begin in range(0, len(nodes), pagerank.AT_ONCE):
        block = slice(begin, begin + pagerank.AT_ONCE)
        resets = []
        for seeds, chunks in zip(nodes[block], chunk_scores[block], strict=True):
            rows, weights = best_score_by_id(seeds.ids, seeds.scores, least=0.0)
            near, scores = chunks.nonzero
            weights = np.concatenate([weights, passage_weight * np.maximum(scores, 0.0)])
            resets.append(pagerank.Reset(np.concatenate([rows, graph.n_nodes + near]), weights))
        for mass in pagerank.masses(walk, resets, damping, top_k, graph.n_nodes):
            rows = np.arange(len(mass.values)) if mass.rows is None else mass.rows
            is_chunk = rows >= graph.n_nodes
            rows, values = rows[is_chunk] - graph.n_nodes, mass.values[is_chunk]
            # without this division, small masses would be equal after rounding
            values = values / (values.max(initial=0.0) or 1.0)
            rankings.append(ChunkScores.sparse(rows, values, graph.n_chunks).top(top_k))
    return rankings


@operator("node.specificity")
def specificity(
    nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Node]:
    """Rank nodes by their score divided by the number of chunks that state their relationships.

    The divisor is at least 1. If a node is given twice, its best score counts. HippoRAG 2 starts
    its random walk at the best 5 nodes.
    Source: HippoRAG (Gutierrez et al. 2024), Section 2.3; HippoRAG 2 (2025), Section 3.4.
    """
    ids, best = best_score_by_id(nodes.ids, nodes.scores)
    specific = best / np.maximum(graph.chunks_per_node[ids], 1)
    return Ranked.best(ids, specific, top_k)
