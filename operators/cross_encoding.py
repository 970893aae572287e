"""Chunks put in order by a cross-encoder, which reads question and chunk together."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.cross_encoder import PassageScorer
from graphrag_bench.values import Chunk, Question, Ranked


@operator("chunk.rerank.cross_encoder")
def cross_encoder_rerank(
    question: Question,
    chunks: Ranked[Chunk],
    *,
    chunk_table: ChunkTable,
    cross_encoder: PassageScorer,
    top_k: PositiveInt = 10,
) -> Ranked[Chunk]:
    """The `top_k` of the given chunks that the cross-encoder scores highest.

    Each chunk is read as its title and text. Score: the logit that the model
    (`cross_encoder.model`) gives, any number; ties by lower id, whatever the order given. A text
    too long for its window is cut by its tokenizer.
    Source: Nogueira and Cho 2019, *Passage Re-ranking with BERT*, section 3.
    """
    rows = np.unique(chunks.ids)
    passages = [chunk_table.passage(row) for row in rows.tolist()]
    found = Ranked[Chunk].top(cross_encoder.scores(question.text, passages), top_k)
    return Ranked(rows[found.ids], found.scores)
