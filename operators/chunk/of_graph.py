"""Operators that return the chunks from which relationships, paths and nodes were extracted."""

from typing import Any, Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UserError
from graphrag_bench.values import Chunk, Node, NodeScores, Ranked, Relationship, RelationshipScores


@operator("chunk.fromrel", table3="FromRel", order="the order of the relationships, then chunk id")
def fromrel(
    relationships: Ranked[Relationship], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Chunk]:
    """Return the chunks from which the given relationships were extracted.

    The score of a chunk is the score of the first given relationship that was extracted from it.
    Synonymy edges have no chunks.
    Source: Zhou et al. (2025), Section 6.1, chunk "FromRel".
    """
    return _in_order(relationships, graph.relationship_chunk, top_k)


@operator("chunk.frompaths", order="the order of the paths and of their hops, then chunk id")
def frompaths(
    paths: RankedPaths,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt | None = None,
) -> Ranked[Chunk]:
    """Return the chunks from which the relationships on the given paths were extracted.

    With `unit="fact"`, a hop has the chunks of its relationship. With `unit="pair"`, it has the
    chunks of all relationships between its two nodes. The score of a chunk is the score of the
    first path with this chunk.
    Source: this project; PathRAG's code, source ids of edges.
    """
    rows = np.array([row for path in paths.paths for row in path.relationships], np.int64)
    scores = np.array([path.score for path in paths.paths for _ in path.relationships])
    if unit == "fact":
        return _in_order(Ranked(rows, scores), graph.relationship_chunk, top_k)
    return _in_order(Ranked(graph.pairs.of[rows], scores), graph.pair_chunk, top_k)


@operator("chunk.leaves", order="the order of the nodes, then chunk id")
def leaves(nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None) -> Ranked[Chunk]:
    """Return the chunks that contain the given nodes, in the order of the nodes.

    The score of a chunk is the score of its first given node. Leaves of a tree and passage nodes
    have one chunk each. Summaries have no chunks.
    Source: this project.
    """
    return _in_order(nodes, graph.node_chunk, top_k)


def _in_order(ranked: Ranked[Any], incidence: Any, top_k: int | None) -> Ranked[Chunk]:
    cells = incidence[ranked.ids]
    places = np.repeat(np.arange(len(ranked)), np.diff(cells.indptr))
    order = np.lexsort((cells.indices, places))
    chunks, places = cells.indices[order], places[order]
    first = np.sort(np.unique(chunks, return_index=True)[1])[:top_k]
    return Ranked(chunks[first].astype(np.int64), ranked.scores[places[first]])


@operator("chunk.occurrence", table3="Occurrence", order="with entity_order, that of the nodes")
def occurrence(
    relationships: Ranked[Relationship],
    nodes: Ranked[Node] | None = None,
    *,
    graph: Graph,
    scoring: Literal["count", "entity_order"] = "count",
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """Rank chunks by the number of given relationships whose source and target occur in the chunk.

    With `scoring="count"`, this number is the score, and chunks with score 0 are dropped.
    `scoring="entity_order"`, as in Microsoft GraphRAG and the code of Zhou et al., requires `use:
    [nodes]`. Chunks are then in the order of the given nodes. Chunks of the same node are sorted by
    score, i.e. by how many neighbours of the node occur in the chunk.
    Source: Zhou et al. (2025), Section 6.1, chunk "Occurrence".
    """
    if scoring == "count":
        sources, targets = graph.source[relationships.ids], graph.target[relationships.ids]
        both = graph.node_chunk[sources].multiply(graph.node_chunk[targets]).tocsr()
        n_both = np.asarray(np.bincount(both.indices, both.data, graph.n_chunks), np.float64)
        return Ranked.top(n_both, top_k, among=np.flatnonzero(n_both))
    if nodes is None:
        raise UserError("scoring='entity_order' needs nodes: add use: [nodes] to the step.")
    counts: dict[int, float] = {}
    for node in nodes.distinct().ids.tolist():
        own = row_ids(graph.node_chunk, node)
        near = graph.node_chunk[row_ids(graph.adjacency, node)]
        named = np.bincount(near.indices, near.data, graph.n_chunks)[own]
        order = np.lexsort((own, -named))
        for chunk, count in zip(own[order].tolist(), named[order].tolist(), strict=True):
            counts.setdefault(chunk, float(count))
        if len(counts) >= top_k:
            break
    return Ranked[Chunk].of(counts).head(top_k)


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
    """Rank chunks by the summed scores of the relationships that were extracted from them.

    With `unit="pair"`, only the best relationship between two nodes counts. With `by="nodes"`, the
    scores of the nodes in the chunk are summed instead. This requires `use: [node_scores]`. Chunks
    with score 0 are left out.
    Source: Zhou et al. (2025), Section 6.1, chunk "Aggregator"; technical report, Table 3.
    """
    if by == "nodes":
        if node_scores is None:
            raise UserError("by='nodes' needs node scores. Add `use: [node_scores]` to the step.")
        scores = graph.node_chunk.T @ node_scores.values
    elif unit == "fact":
        scores = graph.relationship_chunk.T @ relationship_scores.values
    else:
        best = np.full(len(graph.pairs.source), -np.inf)
        np.maximum.at(best, graph.pairs.of, relationship_scores.values)
        scores = graph.pair_chunk.T @ best
    return Ranked.top(scores, top_k, among=np.flatnonzero(scores))
