"""Relationships by vector search, in the scope of a question, and of some types."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
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
