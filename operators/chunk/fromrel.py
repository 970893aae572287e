"""Chunks that relationships, paths or nodes come from, in their order."""

from typing import Any, Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.contract import operator
from graphrag_bench.values import Chunk, Node, Ranked, Relationship


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
