"""The relationships of the part of the corpus that a question is about."""

from __future__ import annotations

import numpy as np

from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import IntArray, Question, Ranked, Relationship


@operator("relationship.in_scope")
def in_scope(question: Question, *, graph: Graph, chunk_table: ChunkTable) -> Ranked[Relationship]:
    """The rows of the question's own subgraph: those that the document named by its scope states.

    All with score 1, by id. Every row of the graph for a question without a scope, and where no
    document has the name of the scope; no row where that document states none.
    Source: the data of RoG (Luo et al. 2024), one subgraph per question of CWQ and WebQSP.
    """
    rows = _rows(question, graph, chunk_table)
    return Ranked(rows, np.ones(len(rows)))


def _rows(question: Question, graph: Graph, chunk_table: ChunkTable) -> IntArray:
    chunks = [] if question.scope is None else chunk_table.chunks_of(question.scope)
    if not chunks:
        return np.arange(graph.n_relationships)
    return np.unique(np.concatenate([row_ids(graph.chunk_relationship, one) for one in chunks]))
