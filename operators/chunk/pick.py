"""Chunks of what a search has found, picked by their similarity to the question."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import (
    Chunk,
    FloatArray,
    IntArray,
    Node,
    Question,
    Ranked,
    Relationship,
    in_turn,
)
from operators.similarity import vectors_of


@operator("chunk.pick.none", unordered="the order given")
def none(chunks: Ranked[Chunk], *, top_k: PositiveInt | None = None) -> Ranked[Chunk]:
    """The first `top_k` of the chunks that were found, all of them for None.

    Source: Zhou et al. 2025, section 6.1: chunks by occurrence or of relationships, as found.
    """
    return chunks.head(top_k)


@operator("chunk.pick.similar", batched=True, unordered="of nodes and relationships in turn")
def similar(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    relationships: Sequence[Ranked[Relationship]],
    chunks: Sequence[Ranked[Chunk]],
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    per_row: PositiveInt = 5,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """The chunks of the nodes and of the relationships that are most similar to the question.

    Of the chunks of n nodes the best n * `per_row` / 2 are taken, rounded down; of those of the
    relationships that no node has given, in the same way, n being the relationships that have such
    chunks. The two lists come in turn, each chunk once: rank 1 of each, then rank 2; the nodes
    first. Where there are none, the given chunks stay. Score: cosine, -1..1. Ties by lower id.
    Source: LightRAG's released code, version 1.5.7: `kg_chunk_pick_method` VECTOR, its default.
    """
    vectors = vectors_of(question, [None] * len(question), embedder)
    every = zip(vectors, nodes, relationships, chunks, strict=True)
    return [
        _picked(_scores(chunk_index, one), (), found, graph, per_row, top_k)
        for one, *found in every
    ]


@operator("chunk.pick.similar_and_dense", batched=True, unordered="three lists in turn")
def similar_and_dense(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    relationships: Sequence[Ranked[Relationship]],
    chunks: Sequence[Ranked[Chunk]],
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    per_row: PositiveInt = 5,
    top_k: PositiveInt = 4,
    min_score: float = 0.2,
) -> list[Ranked[Chunk]]:
    """The `top_k` chunks most similar to the question, in turn with those of `chunk.pick.similar`.

    The similar chunks of the whole corpus come first; those below `min_score` are left out. Where
    there are none, the given chunks stay. Score: cosine, -1..1. Ties by lower id.
    Source: LightRAG's released code, version 1.5.7, its mode mix.
    """
    vectors = vectors_of(question, [None] * len(question), embedder)
    picked = []
    for one, *found in zip(vectors, nodes, relationships, chunks, strict=True):
        scores = _scores(chunk_index, one)
        dense = Ranked[Chunk].top(scores, top_k)
        near = dense.take(dense.scores >= min_score)
        picked.append(_picked(scores, (near,), found, graph, per_row, top_k))
    return picked


def _scores(index: VectorIndex, vectors: Vectors) -> FloatArray:
    return np.asarray(index.scores(vectors[0]), np.float64)


def _picked(
    scores: FloatArray,
    before: Sequence[Ranked[Chunk]],
    found: Sequence[Any],
    graph: Graph,
    per_row: int,
    top_k: int,
) -> Ranked[Chunk]:
    nodes, relationships, given = found
    of_nodes = _best(scores, _rows_of(graph.node_chunk, nodes), per_row)
    seen = set(of_nodes.ids.tolist())
    of_rows = _best(scores, _rows_of(graph.relationship_chunk, relationships), per_row, seen)
    picked = in_turn((*before, of_nodes, of_rows))
    return (picked if len(picked) else given).head(top_k)


def _rows_of(incidence: Any, ranked: Ranked[Any]) -> list[IntArray]:
    chunks = [row_ids(incidence, row) for row in ranked.ids.tolist()]
    return [one for one in chunks if len(one)]


def _best(
    scores: FloatArray,
    chunks_of_rows: Sequence[IntArray],
    per_row: int,
    seen: set[int] | None = None,
) -> Ranked[Chunk]:
    """The best of the chunks that rows hold, those seen left out, so many for each row.

    Every row counts; where some are `seen`, those that hold a chunk which no row before has held.
    """
    n_rows, first, before = 0, dict[int, None](), seen or set()
    for chunks in chunks_of_rows:
        new = [one for one in chunks.tolist() if one not in first and one not in before]
        n_rows += bool(new) or seen is None
        first.update(dict.fromkeys(new))
    among = np.array(list(first), np.int64)
    return Ranked[Chunk].top(scores, int(per_row * n_rows / 2), among=among)
