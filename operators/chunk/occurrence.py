"""Chunks in which both ends of relationships occur."""

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UserError
from graphrag_bench.values import Chunk, Node, Ranked, Relationship, best_of, unique


@operator(
    "chunk.occurrence", table3="Occurrence", unordered="with entity_order, the order of the nodes"
)
def occurrence(
    relationships: Ranked[Relationship],
    nodes: Ranked[Node] | None = None,
    *,
    graph: Graph,
    scoring: Literal["count", "entity_order"] = "count",
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """The chunks in which both ends of the most of the relationships occur.

    Score with `count`: the number of the given rows whose source and target both occur in the
    chunk; chunks with none are left out; ties by lower id. With `entity_order` (the step must
    `use: [nodes]`) the chunks of the first node come first, then the new ones of the second, and so
    on; the score is the number of the node's neighbours that also occur in the chunk, by which the
    chunks of one node are ordered, ties by lower id.
    Source: Zhou et al. 2025, section 6.1, chunk "Occurrence" (`count`); `entity_order` as
    Microsoft GraphRAG and their released code.
    """
    if scoring == "entity_order":
        if nodes is None:
            raise UserError("scoring='entity_order' takes the step setting use: [nodes]")
        return _by_entity(nodes, graph, top_k)
    sources, targets = graph.source[relationships.ids], graph.target[relationships.ids]
    both = graph.node_chunk[sources].multiply(graph.node_chunk[targets]).tocsr()
    counts = np.asarray(np.bincount(both.indices, both.data, graph.n_chunks), np.float64)
    chunks = np.flatnonzero(counts)
    return best_of(chunks, counts[chunks], top_k)


def _by_entity(nodes: Ranked[Node], graph: Graph, top_k: int) -> Ranked[Chunk]:
    counts: dict[int, float] = {}
    for node in unique(nodes.ids.tolist()):
        own = row_ids(graph.node_chunk, node)
        near = graph.node_chunk[row_ids(graph.adjacency, node)]
        named = np.bincount(near.indices, near.data, graph.n_chunks)[own]
        order = np.lexsort((own, -named))
        for chunk, count in zip(own[order].tolist(), named[order].tolist(), strict=True):
            counts.setdefault(chunk, float(count))
        if len(counts) >= top_k:
            break
    return Ranked[Chunk].of(counts).head(top_k)
