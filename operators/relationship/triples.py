"""Relationships scored as triples: the base of path pooling and SubgraphRAG."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Question, Ranked, Relationship


@operator("relationship.triple_scores")
def triple_scores(
    question: Question,
    relationships: Ranked[Relationship] | None = None,
    *,
    triple_index: VectorIndex,
    embedder: Embedder,
    scorer: Literal["cosine"] = "cosine",
    top_k: PositiveInt = 100,
) -> Ranked[Relationship]:
    """The relationships that say, as triples, what is most like the question.

    Score: (1 + cosine of the question and "head relation tail") / 2, 0..1, never negative, as path
    pooling needs it. A step that uses `relationships` ranks those alone. Ties by lower id.
    Source: SubgraphRAG (Li et al. 2025), whose trained scorer the cosine stands in for; our
    specification of path pooling, 4.2.
    Deviation: without a trained scorer; `scorer` will name it.
    """
    (vector,) = embedder.encode([question.text], kind="question")
    scores = (1 + triple_index.scores(vector).astype(np.float64)) / 2
    among = None if relationships is None else relationships.ids
    return Ranked.top(np.clip(scores, 0.0, 1.0), top_k, among=among)
