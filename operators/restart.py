"""Where a walk over nodes and chunks restarts: weights of given nodes, and of similar chunks."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import ChunkScores, FloatArray, Node, Ranked


@operator("node.restart")
def node_restart(nodes: Ranked[Node], *, graph: Graph) -> Ranked[Node]:
    """The given nodes by their score divided by the number of chunks that they are in, sum 1.

    Each comes once; of a node given twice the best score counts, negative ones count as 0. Where
    all scores are 0 they stay so. Chunks are those of the node itself, 1 where there is none. Ties
    by lower id.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, node specificity; the sum is ours.
    """
    best = np.zeros(graph.n_nodes)
    np.maximum.at(best, nodes.ids, nodes.scores)
    weights = best / np.maximum(np.diff(graph.node_chunk.indptr), 1)
    return Ranked[Node].top(_shares(weights), None, among=nodes.ids)


@operator("chunk.restart")
def chunk_restart(chunk_scores: ChunkScores, *, n_dense: PositiveInt = 200) -> ChunkScores:
    """The `n_dense` best chunks by how far they are above the last of them, sum 1; the others 0.

    With fewer chunks the last of all of them counts. The chunks have equal shares where none is
    above another.
    Source: ours.
    """
    values = np.asarray(chunk_scores.values, np.float64)
    best = Ranked[Node].top(values, n_dense)
    weights = np.zeros(len(values))
    if len(best):
        above = best.scores - best.scores.min()
        weights[best.ids] = above if above.any() else 1.0
    return ChunkScores(_shares(weights))


def _shares(weights: FloatArray) -> FloatArray:
    """Weights divided by their sum, as they are where it is 0."""
    total = float(weights.sum())
    return weights / total if total > 0 else weights
