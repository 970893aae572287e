"""Relationships by vector search, in the scope of a question, and of some types."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import DECIMALS, IntArray, Query, Question, Ranked, Relationship
from operators.similarity import most_similar

Order = Literal["similarity", "degree_weight"]


@operator(
    "relationship.vdb",
    table3="VDB",
    batched=True,
    unordered="with degree_weight, the degree of both ends, then weight",
)
def vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    relationship_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 4,
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    order: Order = "similarity",
) -> list[Ranked[Relationship]]:
    """The relationships most similar to the question, or to a query that the step uses instead.

    Score: cosine, -1..1; of several query texts the best one counts. Ties by lower id. Of the best
    `top_k` those below `min_score` are left out. With `order="degree_weight"` the rows found are
    given by the sum of the degrees of their ends, then by weight, as the released code of Zhou et
    al. does.
    Source: Zhou et al. 2025, section 6.1, relationship "VDB".
    """
    rankings = most_similar(question, query, relationship_index, embedder, top_k)
    rankings = [one.take(np.round(one.scores, DECIMALS) >= min_score) for one in rankings]
    if order == "similarity":
        return rankings
    return [one.take(by_degree_and_weight(graph, one.ids, one.ids)) for one in rankings]


def degrees_of_ends(graph: Graph, rows: IntArray) -> IntArray:
    """Return the sum of the degrees of both ends of each row."""
    degree = graph.degree
    return np.asarray(degree[graph.source[rows]] + degree[graph.target[rows]], np.int64)


def by_degree_and_weight(graph: Graph, rows: IntArray, ties: IntArray) -> IntArray:
    """Return the order of rows by the degrees of their ends, then weight, then `ties`."""
    weight = np.round(graph.weight[rows], DECIMALS)
    return np.lexsort((ties, -weight, -degrees_of_ends(graph, rows)))


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


@operator("relationship.of_type", unordered="the order given")
def relationships_of_type(
    relationships: Ranked[Relationship], *, graph: Graph, types: tuple[str, ...] = ()
) -> Ranked[Relationship]:
    """The relationships with an end of one of the types, unchanged; all of them without `types`.

    Upper and lower case make no difference. Raises UserError as `node.of_type` does.
    Source: ours, for operators that take no types themselves.
    """
    nodes = nodes_of(graph, types)
    if nodes is None:
        return relationships
    ids = relationships.ids
    return relationships.take(nodes[graph.source[ids]] | nodes[graph.target[ids]])
