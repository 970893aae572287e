"""Chunks by the question's similarity to all of them, and by a walk that chunks take part in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pagerank import Contains, personalised_pagerank, walk_with_chunks
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import (
    Chunk,
    ChunkScores,
    FloatArray,
    Node,
    NodeScores,
    Query,
    Question,
    Ranked,
)
from operators.similarity import Scale, scaled_scores

Damping = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Joined = Literal["relationships_and_chunks", "chunks"]


@operator("chunk.similarity", batched=True)
def similarity(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    scale: Scale = "min_max",
) -> list[ChunkScores]:
    """The similarity of every chunk to the question, or to a query that the step uses instead.

    Score with `min_max`: the cosine rescaled so that the least similar chunk has 0 and
    the most similar 1, all of them 1 where all are alike; with `cosine` as it is, -1..1. Of several
    query texts the best one counts; without a text every score is 0.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.4: passages in the reset.
    """
    found = scaled_scores(question, query, chunk_index, embedder, scale)
    return [ChunkScores(scores) for scores in found]


@operator("chunk.ppr", batched=True)
def ppr(
    nodes: Sequence[Ranked[Node]],
    chunk_scores: Sequence[ChunkScores],
    *,
    graph: Graph,
    damping: Damping = 0.5,
    passage_weight: NonNegativeFloat = 0.05,
    joined: Joined = "relationships_and_chunks",
    contains: Contains = "one",
    contains_weight: Positive = 1.0,
    top_k: PositiveInt = 4,
    tolerance: Positive = 1e-10,
) -> list[Ranked[Chunk]]:
    """The best chunks by personalised PageRank over a graph in which chunks are nodes too.

    Score: the mass of the chunk, divided by that of the best one, 0..1; ties by lower id. A node
    is joined to every chunk that it is in with weight `contains_weight`, divided by the number of
    nodes in the chunk for `contains="share"`, and to other nodes by its relationships and synonymy
    edges, unless `joined="chunks"`. The walk restarts at the given nodes, each with its score, and
    at every chunk with its chunk score times `passage_weight`; negative scores count as 0, of a
    node given twice the best score counts. `damping` is the probability of continuing the walk
    (1 - restart). Without nodes it restarts at the chunks alone, without any weight anywhere.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.4 and its released defaults.
    """
    walk = walk_with_chunks(
        graph,
        relationships=joined == "relationships_and_chunks",
        contains=contains,
        contains_weight=contains_weight,
    )
    restart = np.zeros((graph.n_nodes + graph.n_chunks, len(nodes)))
    for column, (seeds, chunks) in enumerate(zip(nodes, chunk_scores, strict=True)):
        np.maximum.at(restart[:, column], seeds.ids, seeds.scores)
        restart[graph.n_nodes :, column] = passage_weight * np.maximum(chunks.values, 0.0)
    mass = personalised_pagerank(walk, restart, damping, tolerance)[graph.n_nodes :]
    return [Ranked[Chunk].top(_of_the_best(mass[:, at]), top_k) for at in range(len(nodes))]


def _of_the_best(mass: FloatArray) -> FloatArray:
    """Mass divided by the largest, so that rounding cannot make small masses equal."""
    best = mass.max(initial=0.0)
    return np.asarray(mass / best if best > 0 else mass, np.float64)


@operator("chunk.activated", batched=True)
def activated(
    chunk_scores: Sequence[ChunkScores],
    node_scores: Sequence[NodeScores],
    *,
    tri_graph: TriGraph,
    ratio: NonNegativeFloat = 1.5,
) -> list[ChunkScores]:
    """The scores of the chunks, raised for those that name active nodes.

    Score: `ratio` * s + ln(1 + sum over nodes of a * ln(1 + m)) for a chunk of score s that names a
    node of score a m times; negative node scores count as 0. Natural logarithms.
    Source: LinearRAG (Zhuang et al. 2025), passage scores; `ratio` is that of its released code.
    """
    mentions = tri_graph.chunk_entity.astype(np.float64)
    mentions.data = np.log1p(mentions.data)
    active = np.stack([np.maximum(scores.values, 0.0) for scores in node_scores], axis=1)
    bonus = np.log1p(mentions @ active)
    return [
        ChunkScores(ratio * scores.values + bonus[:, at]) for at, scores in enumerate(chunk_scores)
    ]
