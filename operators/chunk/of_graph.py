"""Chunks by what was read from them: relationships, paths and nodes."""

from typing import Any, Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UserError
from graphrag_bench.values import (
    Chunk,
    Node,
    NodeScores,
    Ranked,
    Relationship,
    RelationshipScores,
    best_of,
    unique,
)


@operator(
    "chunk.fromrel", table3="FromRel", unordered="the order of the relationships, then chunk id"
)
def fromrel(
    relationships: Ranked[Relationship], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Chunk]:
    """The chunks that the relationships were read from, each once, in the relationships' order.

    Score: that of the first relationship read from the chunk. The chunks of one relationship are
    ordered by id; `top_k` cuts the end of the list. Synonymy edges have no chunk.
    Source: Zhou et al. 2025, section 6.1, chunk "FromRel".
    """
    return _in_order(relationships, graph.relationship_chunk, top_k)


@operator("chunk.frompaths", unordered="the order of the paths and of their hops, then chunk id")
def frompaths(
    paths: RankedPaths,
    *,
    graph: Graph,
    unit: Literal["pair", "fact"] = "pair",
    top_k: PositiveInt | None = None,
) -> Ranked[Chunk]:
    """The chunks that the relationships of the paths were read from, each once, best path first.

    Score: that of the first path which leads to the chunk. With `unit="pair"` a hop means all facts
    between its two nodes, with `fact` its own row. The chunks of one hop are ordered by id; `top_k`
    cuts the end of the list.
    Source: ours, so that the evidence of path methods can be scored (source ids of edges in
    PathRAG's released code).
    """
    hops = [(row, path.score) for path in paths.paths for row in path.relationships]
    rows = np.array([row for row, _ in hops], np.int64)
    scores = np.array([score for _, score in hops])
    if unit == "fact":
        return _in_order(Ranked(rows, scores), graph.relationship_chunk, top_k)
    return _in_order(Ranked(graph.pairs.of[rows], scores), graph.pair_chunk, top_k)


@operator("chunk.leaves", unordered="the order of the nodes, then chunk id")
def leaves(nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None) -> Ranked[Chunk]:
    """The chunks that the nodes represent, each once, in the order of the nodes.

    Score: that of the first node of the chunk. A leaf of a tree and a node of a passage graph
    represent one chunk; a summary represents none, so that its text does not count as evidence. An
    entity represents every chunk that names it, by id. `top_k` cuts the end of the list.
    Source: ours, so that the evidence of tree and passage-graph methods can be scored.
    """
    return _in_order(nodes, graph.node_chunk, top_k)


def _in_order(ranked: Ranked[Any], incidence: Any, top_k: int | None) -> Ranked[Chunk]:
    cells = incidence[ranked.ids]
    places = np.repeat(np.arange(len(ranked)), np.diff(cells.indptr))
    order = np.lexsort((cells.indices, places))
    chunks, places = cells.indices[order], places[order]
    first = np.sort(np.unique(chunks, return_index=True)[1])[:top_k]
    return Ranked(chunks[first].astype(np.int64), ranked.scores[places[first]])


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
