"""Chunks by vector search and by BM25, their scores on one scale, and the first of a list."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from pydantic import NonNegativeFloat, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.indices.words import Bm25
from graphrag_bench.values import Chunk, ChunkScores, Query, Question, Ranked
from operators.similarity import Scale, most_similar, scaled, vectors_of


@operator("chunk.vdb", batched=True)
def vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 4,
) -> list[Ranked[Chunk]]:
    """The chunks most similar to the question, or to a query that the step uses instead.

    Score: cosine, -1..1; of several query texts the best one counts. Ties by lower id.
    Source: Zhou et al. 2025, section 7 (VanillaRAG); technical report, B.1, chunk "VDB".
    """
    return most_similar(question, query, chunk_index, embedder, top_k)


@operator("chunk.bm25")
def bm25(
    question: Question, query: Query | None = None, *, bm25: Bm25, top_k: PositiveInt = 4
) -> Ranked[Chunk]:
    """The chunks with the highest BM25 score for the question, or for a query used instead.

    Score: BM25, above 0; the scores of several query texts add up. Chunks that share no word with
    the question are left out. Ties by lower id.
    Source: Robertson & Zaragoza 2009, in Lucene's variant (Kamphuis et al. 2020).
    """
    texts = (question.text,) if query is None else query.texts
    scores = np.sum([bm25.scores(text) for text in texts], axis=0) if texts else np.zeros(0)
    return Ranked.top(scores, top_k, among=np.flatnonzero(scores > 0))


@operator("chunk.min_max", unordered="the order given")
def min_max(chunks: Ranked[Chunk], *, weight: NonNegativeFloat = 1.0) -> Ranked[Chunk]:
    """The chunks in the same order, with scores from 0 (the lowest) to `weight` (the highest).

    So that lists whose scores have other units can be added (`merge: sum`). A list whose scores
    are all the same has `weight` everywhere.
    Source: Bruch, Gai and Ingber, TOIS 2023, section 3 (convex combination of min-max scores).
    """
    if not len(chunks):
        return chunks
    low, high = float(chunks.scores.min()), float(chunks.scores.max())
    spread = high - low
    unit = (chunks.scores - low) / spread if spread > 0 else np.ones(len(chunks))
    return Ranked(chunks.ids, unit * weight)


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
    return [
        ChunkScores.later(partial(scaled, vectors, chunk_index, scale), len(chunk_index))
        for vectors in vectors_of(question, query, embedder)
    ]


@operator("chunk.head", unordered="the order given")
def head(chunks: Ranked[Chunk], *, top_k: PositiveInt = 4) -> Ranked[Chunk]:
    """The first `top_k` chunks, in the order given and with their scores.

    Source: ours; an arm of a branch that keeps what is there, and a cap on what was collected.
    """
    return chunks.head(top_k)
