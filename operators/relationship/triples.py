"""Relationships scored as triples: the base of path pooling and SubgraphRAG."""

from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph, relationships_of
from graphrag_bench.algorithms.triple_scorer import MlpTripleScorer, ScoredQuestion
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import FloatArray, IntArray, Node, Question, Ranked, Relationship

TripleScorer = VectorIndex | MlpTripleScorer
"""An index of the triples as texts, by whose cosine they are scored, or a trained scorer."""
WHOLE_AT_ONCE = 8
"""Questions of the whole graph that the trained scorer takes at a time: for each of them 40 bytes a
node for the distances, twice while they are made, and 8 bytes a relationship for the scores."""


@operator("relationship.triple_scores", batched=True)
def triple_scores(
    question: Sequence[Question],
    relationships: Sequence[Ranked[Relationship] | None],
    nodes: Sequence[Ranked[Node] | None],
    *,
    triple_scorer: TripleScorer,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 100,
    types: tuple[str, ...] = (),
) -> list[Ranked[Relationship]]:
    """The relationships that, as triples, help most to answer the question.

    Score, 0..1: (1 + cosine of the question and "head relation tail") / 2, or, with
    `build.triple_scorer=mlp`, what the trained scorer gives, which also sees how the triple lies to
    `nodes`, the question's entities. A step that uses `relationships` ranks those alone. Ties by
    lower id. With `types` only relationships with an end of these types are ranked.
    Source: SubgraphRAG (Li et al. 2025), section 3.1; our specification of path pooling, 4.2.
    """
    vectors = embedder.encode([asked.text for asked in question], kind="question")
    none = np.empty(0, np.int64)
    asked = [
        ScoredQuestion(
            vector, _some(rows, graph.n_relationships), none if linked is None else linked.ids
        )
        for vector, rows, linked in zip(vectors, relationships, nodes, strict=True)
    ]
    typed = relationships_of(graph, types)
    ranked = []
    for one, values in zip(asked, _scores(triple_scorer, graph, asked), strict=True):
        among = None
        if typed is not None:
            among = np.flatnonzero(typed if one.rows is None else typed[one.rows])
        best = Ranked[Relationship].top(values, top_k, among)
        ranked.append(best if one.rows is None else Ranked(one.rows[best.ids], best.scores))
    return ranked


def _scores(
    triple_scorer: TripleScorer, graph: Graph, asked: Sequence[ScoredQuestion]
) -> Iterator[FloatArray]:
    if isinstance(triple_scorer, VectorIndex):
        index = triple_scorer.vectors
        for one in asked:
            cosine = (index if one.rows is None else index[one.rows]) @ one.vector
            yield np.clip((1 + cosine.astype(np.float64)) / 2, 0, 1)
        return
    at_once = WHOLE_AT_ONCE if any(one.rows is None for one in asked) else max(len(asked), 1)
    for begin in range(0, len(asked), at_once):
        yield from triple_scorer.scores(graph.source, graph.target, asked[begin : begin + at_once])


def _some(ranked: Ranked[Relationship] | None, n_rows: int) -> IntArray | None:
    rows = None if ranked is None else np.unique(ranked.ids)
    return None if rows is None or len(rows) == n_rows else rows
