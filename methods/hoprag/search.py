"""HopRAG's searches: the edges nearest to a question, and the passages that help to answer it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pseudo_questions import SEPARATOR
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.nearest import products
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Chunk, Mentions, Question, Ranked, Relationship, best_of


@operator("relationship.hybrid", batched=True, requires={"relationship.keywords"})
def hybrid(
    question: Sequence[Question],
    mentions: Sequence[Mentions],
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    n_candidates: PositiveInt = 200,
    top_k: PositiveInt = 20,
) -> list[Ranked[Relationship]]:
    """The relationships most similar to the question by their vectors and by names together.

    Score: the mean of the cosine and of the Jaccard index of the relationship's keywords and the
    question's names, -0.5..1, of the `n_candidates` of highest cosine. One outside of them scores
    at most (1 + the cosine of the last one) / 2. Ties by lower id.
    Source: HopRAG (Liu et al. 2025), hybrid search of edges.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    found = []
    for names, near in zip(mentions, relationship_index.search(vectors, n_candidates), strict=True):
        wanted, words = names_of(names), graph.keywords
        held = [set(words[row].split(SEPARATOR)) - {""} if words else set() for row in near.ids]
        alike = np.array([jaccard(one, wanted) for one in held])
        found.append(best_of(near.ids, (near.scores + alike) / 2, top_k))
    return found


def names_of(mentions: Mentions) -> set[str]:
    """The normalised names of a question."""
    return {normalise_name(name) for name in mentions.names} - {""}


def jaccard(one: set[str], other: set[str]) -> float:
    """How many names both have, of those that either has; 0 for none."""
    return len(one & other) / len(one | other) if one | other else 0.0


@operator("chunk.helpful", batched=True)
def helpful(
    question: Sequence[Question],
    chunks: Sequence[Ranked[Chunk]],
    *,
    chunk_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 10,
) -> list[Ranked[Chunk]]:
    """The chunks by the mean of the score that they come with and their cosine with the question.

    Score: -0.5..1 where they come with a share of visits. Ties by lower id.
    Source: HopRAG (Liu et al. 2025), helpfulness. Deviation: the similarity of a passage is its
    cosine alone, where the paper takes names in as well.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    found = []
    for vector, given in zip(vectors, chunks, strict=True):
        cosine = products(vector[None, :], chunk_index.vectors, given.ids[None, :])[0]
        found.append(best_of(given.ids, (given.scores + cosine) / 2, top_k))
    return found
