"""LightRAG's choice of chunks from the retrieved nodes and relationships."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Chunk, Node, Question, Ranked, Relationship, interleave

PER_ROW, MIN_COSINE = 5, 0.2
"""LightRAG's settings: 5 / 2 chunks per node or relationship, and the minimum cosine."""


@operator("chunk.pick.none", order="the order given")
def as_found(chunks: Ranked[Chunk], *, top_k: PositiveInt | None = None) -> Ranked[Chunk]:
    """Keep the first `top_k` chunks in the order of the previous operator, e.g. `chunk.occurrence`.

    Source: Zhou et al. (2025), Section 6.1.
    """
    return chunks.head(top_k)


@operator("chunk.pick.similar", batched=True, order="two lists alternate")
def similar(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    relationships: Sequence[Ranked[Relationship]],
    chunks: Sequence[Ranked[Chunk]],
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """Rank the chunks of the given nodes and relationships by similarity to the question.

    The first list contains the most similar chunks of the nodes. The second list contains the most
    similar chunks of the relationships, without chunks of the first list. The length of the
    first list is at most 5/2 of the number of nodes with chunks, rounded down. The length of the
    second list is at most 5/2 of the number of relationships with new chunks. The lists are
    interleaved, starting with the first list, and the first `top_k` chunks are returned. If both
    lists are empty, the first `top_k` given chunks are returned. The score is the cosine (-1..1).
    Source: LightRAG's code, version 1.5.7, `kg_chunk_pick_method` VECTOR (the default).
    """
    return _picks(question, (nodes, relationships, chunks), graph, chunk_index, embedder, top_k)


@operator("chunk.pick.similar_and_dense", batched=True, order="three lists alternate")
def similar_and_dense(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    relationships: Sequence[Ranked[Relationship]],
    chunks: Sequence[Ranked[Chunk]],
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """Interleave lists of the most similar chunks: of all chunks, of nodes, and of relationships.

    The first list contains the `top_k` chunks with the highest cosine to the question. Chunks with
    a cosine below 0.2 are left out. Everything else is as in `chunk.pick.similar`.
    Source: LightRAG's code, version 1.5.7, mode `mix`.
    """
    rankings = (nodes, relationships, chunks)
    return _picks(question, rankings, graph, chunk_index, embedder, top_k, MIN_COSINE)


def _picks(
    question: Sequence[Question], rankings: tuple[Sequence[Ranked[Any]], ...], graph: Graph,
    index: VectorIndex, embedder: Embedder, top_k: int, min_dense: float | None = None,
) -> list[Ranked[Chunk]]:  # fmt: skip
    vectors = embedder.encode([one.text for one in question], kind="question")
    picks: list[Ranked[Chunk]] = []
    for vector, nodes, relationships, chunks in zip(vectors, *rankings, strict=True):
        scores = np.asarray(index.scores(vector), np.float64)
        of_nodes = [set(row_ids(graph.node_chunk, row).tolist()) for row in nodes.ids]
        n_nodes, among = sum(map(bool, of_nodes)), sorted(set().union(*of_nodes))
        lists: list[Ranked[Chunk]] = [Ranked.top(scores, int(PER_ROW * n_nodes / 2), among=among)]
        seen, n_rows, new = set(lists[0].ids.tolist()), 0, set[int]()
        for row in relationships.ids:
            more = set(row_ids(graph.relationship_chunk, row).tolist()) - seen - new
            n_rows, new = n_rows + bool(more), new | more
        lists.append(Ranked.top(scores, int(PER_ROW * n_rows / 2), among=sorted(new)))
        if min_dense is not None:
            dense = Ranked[Chunk].top(scores, top_k)
            lists.insert(0, dense.take(dense.scores >= min_dense))
        pick = interleave(lists)
        picks.append((pick if len(pick) else chunks).head(top_k))
    return picks
