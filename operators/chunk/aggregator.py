"""Chunks by the scores of the relationships read from them, or of the nodes in them."""

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.errors import UserError
from graphrag_bench.values import Chunk, NodeScores, Ranked, RelationshipScores, best_of


@operator("chunk.aggregator", table3="Aggregator")
def aggregator(
    relationship_scores: RelationshipScores,
    node_scores: NodeScores | None = None,
    *,
    graph: Graph,
    by: Literal["relationships", "nodes"] = "relationships",
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """The chunks with the highest sum of the scores of the relationships read from them.

    Score: a sum, in the unit of the relationship scores. With `unit="pair"` a pair of nodes
    counts once for a chunk, by its best row, however many facts join the two; with `fact` every
    row counts. `by="nodes"` sums the scores of the chunk's nodes instead (the step must
    `use: [node_scores]`). Chunks with score 0 are left out. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, chunk "Aggregator"; technical report, table 3.
    """
    if by == "nodes":
        if node_scores is None:
            raise UserError("by='nodes' takes the step setting use: [node_scores]")
        scores = graph.node_chunk.T @ node_scores.values
    elif unit == "fact":
        scores = graph.relationship_chunk.T @ relationship_scores.values
    else:
        best = np.full(len(graph.pairs.source), -np.inf)
        np.maximum.at(best, graph.pairs.of, relationship_scores.values)
        scores = graph.pair_chunk.T @ best
    among = np.flatnonzero(scores)
    return best_of(among, scores[among], top_k)
