"""The weights that the walk over entities and passages restarts with."""

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import ChunkScores, FloatArray, Node, Ranked, best_of, best_of_each


@operator("chunk.restart")
def chunk_restart(chunk_scores: ChunkScores, *, n_dense: PositiveInt = 200) -> ChunkScores:
    """The `n_dense` best chunks by how far they are above the last of them, sum 1; the others 0.

    With fewer chunks the last of all of them counts. The chunks have equal shares where none is
    above another.
    Source: ours.
    """
    best = chunk_scores.top(n_dense)
    above = best.scores - best.scores.min(initial=np.inf)
    weights = above if above.any() else np.ones(len(best))
    return ChunkScores.sparse(best.ids, _with_sum_one(weights), len(chunk_scores))


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
    shares = _with_sum_one(best / np.maximum(inside[rows + 1] - inside[rows], 1))
    return best_of(rows, shares, len(rows))


def _with_sum_one(weights: FloatArray) -> FloatArray:
    total = float(weights.sum())
    return weights / total if total > 0 else weights
