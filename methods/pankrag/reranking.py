"""Dependency-aware reranking: what is similar to the answers so far moves up."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Chunk, FloatArray, Node, Question, Ranked, best_first
from operators.answer.map_reduce import Points

Weight = Annotated[float, Field(ge=0, le=1)]
Aggregate = Literal["mean", "max", "concat"]
Negative = Literal["clip0", "affine", "raw"]
Relevance = Literal["entity_sim", "chunk_sim", "rank"]
OnOff = Literal["on", "off"]


@operator("chunk.dependency_rerank", unordered="ties, and `rank`, keep the order given")
def rerank_chunks(
    question: Question,
    chunks: Ranked[Chunk],
    nodes: Ranked[Node] | None = None,
    dependencies: Dependencies | None = None,
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    rerank: OnOff = "on",
    alpha: Weight = 0.6,
    relevance: Relevance = "entity_sim",
    aggregate: Aggregate = "mean",
    negative: Negative = "clip0",
) -> Ranked[Chunk]:
    """The chunks by relevance and by similarity to the answers that the question depends on.

    Score: alpha R + (1 - alpha) M. R, in 0..1, is the highest score of a given node that is in the
    chunk (`entity_sim`), the cosine of chunk and question (`chunk_sim`), both clipped at 0, or
    1 / (1 + position) (`rank`; also where `entity_sim` is given no nodes). M is the cosine of the
    chunk and the answers: their mean, their maximum, or that with all answers as one text
    (`concat`); then negative values become 0 (`clip0`), or M becomes (1 + M) / 2 (`affine`), or is
    kept (`raw`). Without an answer, or with `rerank="off"`, the score is R and no answer is
    embedded. Ties keep the order given.
    Source: PankRAG (2025), section 3.3, equations 3 and 4; R and the handling of several and of
    negative cosines are ours; the paper leaves them open.
    """
    vectors = np.asarray(chunk_index.vectors[chunks.ids], np.float64)
    r = np.asarray(1.0 / (1 + np.arange(len(chunks))))
    if relevance == "chunk_sim" and len(chunks):
        (vector,) = embedder.encode([question.text], kind="question")
        cosine = np.asarray(chunk_index.vectors[chunks.ids] @ vector, np.float64)
        r = np.clip(cosine, 0, None)
    elif relevance == "entity_sim" and nodes is not None:
        inside = graph.node_chunk[nodes.ids][:, chunks.ids].toarray()
        scores = np.clip(nodes.scores, 0, 1)[:, None]
        r = np.asarray((inside * scores).max(axis=0, initial=0.0))
    if rerank == "on" and dependencies is not None and len(dependencies) and len(chunks):
        m = likeness(vectors, _answers(dependencies, embedder, aggregate), aggregate, negative)
        r = alpha * r + (1 - alpha) * m
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
    aggregate: Aggregate = "mean",
    negative: Negative = "clip0",
) -> Points:
    """The points, with their own scores, in the order of relevance and similarity to the answers.

    As for chunks, with R the point's score / 100. Ties keep the order given.
    Source: PankRAG (2025), section 3.3, equations 3 and 4.
    """
    r = np.array(points.scores, np.float64) / 100
    if rerank == "on" and dependencies is not None and len(dependencies) and len(points):
        vectors = np.asarray(embedder.encode(points.texts, kind="passage"), np.float64)
        m = likeness(vectors, _answers(dependencies, embedder, aggregate), aggregate, negative)
        r = alpha * r + (1 - alpha) * m
    order = best_first(r).tolist()
    return Points(
        tuple(points.texts[row] for row in order),
        tuple(points.scores[row] for row in order),
        tuple(points.chunks[row] for row in order) if points.chunks else (),
    )


def likeness(
    candidates: FloatArray, answers: Vectors, aggregate: Aggregate, negative: Negative
) -> FloatArray:
    """M of every candidate, float64 (n,), from unit rows (n, d) and those of the answers (m, d).

    `concat` takes one answer; of several the mean counts.
    """
    cosines = np.asarray(candidates, np.float64) @ np.asarray(answers, np.float64).T
    m = cosines.max(axis=1) if aggregate == "max" else cosines.mean(axis=1)
    if negative == "affine":
        return np.asarray((1 + m) / 2)
    return np.clip(m, 0, None) if negative == "clip0" else np.asarray(m)


def _answers(dependencies: Dependencies, embedder: Embedder, aggregate: Aggregate) -> Vectors:
    texts = dependencies.answers
    return embedder.encode(("\n".join(texts),) if aggregate == "concat" else texts, kind="passage")
