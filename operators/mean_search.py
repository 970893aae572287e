"""Chunks by the mean vector of several texts."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Chunk, Query, Question, Ranked


@operator("chunk.vdb_mean")
def vdb_mean(
    question: Question,
    query: Query,
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    with_question: bool = True,
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """The chunks most similar to the mean of the query's texts and, by default, the question.

    The texts of the query are embedded as passages, the question as a question; the mean of the
    unit vectors weights each equally and is normalised to length 1. Score: cosine, -1..1; 0 for
    every chunk when the vectors cancel out. A query without a text finds nothing. Ties by lower id.
    Source: HyDE (Gao et al., ACL 2023), section 3.2, equations 7 and 8.
    """
    if not query.texts:
        return Ranked.empty()
    vectors = [embedder.encode(list(query.texts), kind="passage")]
    if with_question:
        vectors.append(embedder.encode([question.text], kind="question"))
    mean = np.concatenate(vectors).mean(axis=0, keepdims=True)
    length = np.linalg.norm(mean)
    unit = np.asarray(mean / length if length else mean, np.float32)
    (found,) = chunk_index.search(unit, top_k)
    return found
