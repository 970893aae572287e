"""Rank chunks by personalised PageRank, and nodes by their specificity."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import AT_ONCE, Contains, Reset, masses, walk_with_chunks
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, ChunkScores, Node, Ranked, best_rows, best_score_by_id
from operators.node.ppr import Damping


@operator("chunk.ppr", batched=True)
def ppr(
    nodes: Sequence[Ranked[Node]],
    chunk_scores: Sequence[ChunkScores],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    passage_weight: NonNegativeFloat = 0.05,
    joined: Literal["relationships_and_chunks", "chunks"] = "relationships_and_chunks",
    contains: Contains = "one",
    contains_weight: Annotated[float, Field(gt=0)] = 1.0,
    cliques: tuple[str, ...] = (),
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """Return the chunks with the highest personalised PageRank in a graph of nodes and chunks.

    Score: the mass of the chunk divided by the mass of the best chunk, 0..1; ties by lower id. The
    walk restarts at a given node in proportion to its score, and at any chunk in proportion to its
    chunk score times `passage_weight`; negative scores count as 0, a duplicate node counts with its
    best score. `damping` is the probability of continuing the walk (1 - restart). A node is
    adjacent to each of its chunks with weight `contains_weight` (divided by the number of nodes in
    the chunk for `contains="share"`), and to other nodes by relationships and synonymy edges,
    unless `joined="chunks"`. Nodes of the types `cliques` are replaced by edges between all of
    their neighbours, weighted by the number of replaced nodes that two neighbours share. The mass
    is exact for up to 200,000 nodes and chunks. In larger graphs a push algorithm approximates it:
    the error of a chunk is at most 2e-6 times its strength (summed weight) over the mean strength,
    and chunks that the walk cannot reach have 0.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.4 and its released defaults.
    """
    walk = walk_with_chunks(
        graph,
        relationships=joined == "relationships_and_chunks",
        contains=contains,
        contains_weight=contains_weight,
        cliques=cliques,
    )
    rankings: list[Ranked[Chunk]] = []
    for begin in range(0, len(nodes), AT_ONCE):
        block = slice(begin, begin + AT_ONCE)
        resets = []
        for seeds, chunks in zip(nodes[block], chunk_scores[block], strict=True):
            rows, weights = best_score_by_id(seeds.ids, seeds.scores, least=0.0)
            near, scores = chunks.nonzero
            weights = np.concatenate([weights, passage_weight * np.maximum(scores, 0.0)])
            resets.append(Reset(np.concatenate([rows, graph.n_nodes + near]), weights))
        for mass in masses(walk, resets, damping, top_k, graph.n_nodes):
            rows = np.arange(len(mass.values)) if mass.rows is None else mass.rows
            is_chunk = rows >= graph.n_nodes
            rows, values = rows[is_chunk] - graph.n_nodes, mass.values[is_chunk]
            # divided by the largest mass, so that rounding does not make small masses equal
            values = values / (values.max(initial=0.0) or 1.0)
            rankings.append(ChunkScores.sparse(rows, values, graph.n_chunks).top(top_k))
    return rankings


@operator("node.specificity")
def specificity(
    nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Node]:
    """Rank nodes by their score divided by the number of their chunks.

    A node's chunks are the chunks that state one of its relationships; their number is taken as at
    least 1. A duplicate node counts with its best score. Ties by lower id.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, node specificity; HippoRAG 2 (2025),
    section 3.4, which starts its walk at the best 5.
    """
    ids, best = best_score_by_id(nodes.ids, nodes.scores)
    specific = best / np.maximum(graph.chunks_per_node[ids], 1)
    return best_rows(ids, specific, len(ids) if top_k is None else top_k)
