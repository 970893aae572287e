"""Relationships scored as triples: the base of path pooling and SubgraphRAG."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import IntArray, Node, Question, Ranked, Relationship
from methods.subgraphrag.mlp_scorer import MlpTripleScorer, means_of

TripleScorer = VectorIndex | MlpTripleScorer
"""An index of the triples as texts, by whose cosine they are scored, or a trained scorer."""


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
) -> list[Ranked[Relationship]]:
    """The relationships that, as triples, help most to answer the question.

    Score, 0..1: (1 + cosine of the question and "head relation tail") / 2, or, with
    `build.triple_scorer=mlp`, what the trained scorer gives, which also sees how the triple lies to
    `nodes`, the question's entities. A step that uses `relationships` ranks those alone. Ties by
    lower id.
    Source: SubgraphRAG (Li et al. 2025), section 3.1; our specification of path pooling, 4.2.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    means = cache(lambda: means_of(graph.source, graph.target, graph.n_nodes))
    rankings = []
    for vector, ranked, linked in zip(vectors, relationships, nodes, strict=True):
        rows = _some(ranked, graph.n_relationships)
        if isinstance(triple_scorer, VectorIndex):
            index = triple_scorer.vectors
            cosine = (index if rows is None else index[rows]) @ vector
            values = np.clip((1 + cosine.astype(np.float64)) / 2, 0, 1)
        else:
            topics = np.empty(0, np.int64) if linked is None else linked.ids
            whole = means() if rows is None else None
            values = triple_scorer.scores(graph.source, graph.target, vector, rows, topics, whole)
        best = Ranked[Relationship].top(values, top_k)
        rankings.append(best if rows is None else Ranked(rows[best.ids], best.scores))
    return rankings


def _some(ranked: Ranked[Relationship] | None, n_rows: int) -> IntArray | None:
    rows = None if ranked is None else np.unique(ranked.ids)
    return None if rows is None or len(rows) == n_rows else rows


@operator("relationship.in_scope")
def in_scope(question: Question, *, graph: Graph, chunk_table: ChunkTable) -> Ranked[Relationship]:
    """The rows of the question's own subgraph: those that the document named by its scope states.

    All with score 1, by id. Every row of the graph for a question without a scope, and where no
    document has the name of the scope; no row where that document states none.
    Source: the data of RoG (Luo et al. 2024), one subgraph per question of CWQ and WebQSP.
    """
    chunks = [] if question.scope is None else chunk_table.chunks_of(question.scope)
    rows = np.arange(graph.n_relationships)
    if chunks:
        rows = np.unique(np.concatenate([row_ids(graph.chunk_relationship, c) for c in chunks]))
    return Ranked(rows, np.ones(len(rows)))
