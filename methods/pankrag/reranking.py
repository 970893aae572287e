"""Dependency-aware reranking: what is similar to the answers so far moves up."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Chunk, FloatArray, Node, Ranked, best_first
from operators.answer.map_reduce import Points

Weight = Annotated[float, Field(ge=0, le=1)]
OnOff = Literal["on", "off"]


@operator("chunk.dependency_rerank", unordered="ties keep the order given")
def rerank_chunks(
    chunks: Ranked[Chunk],
    nodes: Ranked[Node],
    dependencies: Dependencies | None = None,
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    rerank: OnOff = "on",
    alpha: Weight = 0.6,
) -> Ranked[Chunk]:
    """The chunks by relevance and by similarity to the answers that the question depends on.

    Score: alpha R + (1 - alpha) M. R, in 0..1, is the highest score of a given node that is in the
    chunk. M is the mean cosine of the chunk and the answers, 0 where it is negative. Without an
    answer, or with `rerank="off"`, the score is R and no answer is embedded. Ties keep the order
    given.
    Source: PankRAG (2025), section 3.3, equations 3 and 4; R and the handling of several and of
    negative cosines are ours; the paper leaves them open.
    """
    inside = graph.node_chunk[nodes.ids][:, chunks.ids].toarray()
    r = np.asarray((inside * np.clip(nodes.scores, 0, 1)[:, None]).max(axis=0, initial=0.0))
    if rerank == "on" and dependencies and len(chunks):
        vectors = np.asarray(chunk_index.vectors[chunks.ids])
        r = alpha * r + (1 - alpha) * likeness(vectors, dependencies, embedder)
    order = best_first(r)
    return Ranked(chunks.ids[order], r[order])


@operator("point.dependency_rerank")
def rerank_points(
    points: Points,
    dependencies: Dependencies | None = None,
    *,
    embedder: Embedder,
    rerank: OnOff = "on",
    alpha: Weight = 0.75,
) -> Points:
    """The points, with their own scores, in the order of relevance and similarity to the answers.

    As for chunks, with R the point's score / 100. Ties keep the order given.
    Source: PankRAG (2025), section 3.3, equations 3 and 4.
    """
    r = np.array(points.scores, np.float64) / 100
    if rerank == "on" and dependencies and len(points):
        vectors = embedder.encode(points.texts, kind="passage")
        r = alpha * r + (1 - alpha) * likeness(vectors, dependencies, embedder)
    order = best_first(r).tolist()
    return Points(
        tuple(points.texts[row] for row in order),
        tuple(points.scores[row] for row in order),
        tuple(points.chunks[row] for row in order) if points.chunks else (),
    )


def likeness(candidates: Vectors, answers: Dependencies, embedder: Embedder) -> FloatArray:
    """M of every candidate, float64 (n,), from unit rows (n, d): the clip comes after the mean."""
    vectors = np.asarray(embedder.encode(answers.answers, kind="passage"), np.float64)
    means = (np.asarray(candidates, np.float64) @ vectors.T).mean(axis=1)
    return np.asarray(np.maximum(means, 0))
