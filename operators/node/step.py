"""PathCoRAG's nodes: those most similar to the queries of each reasoning step."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.graph.reasoning_steps import ReasoningSteps, StepNodes
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, best_first
from operators.similarity import searched


@operator("node.by_step")
def by_step(
    reasoning_steps: ReasoningSteps,
    *,
    node_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    per_query: PositiveInt = 50,
    assign: Literal["all", "retrieved_only", "rank"] = "all",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    types: tuple[str, ...] = (),
) -> StepNodes:
    """The `per_query` nodes most similar to each extended query, each with its step, best first.

    Score: the highest cosine of node and query, -1..1; ties by lower id. A node belongs to the step
    of its most similar query (by six decimals), the first of equal ones; every query of a step
    counts, or with `retrieved_only` only those that found the node; with `rank` that step has it
    among whose queries it ranks best, and the score is the highest of those that found it there. A
    query does not find nodes below `min_score`. A step without queries has no node. With `types`
    only nodes of these types are searched.
    Source: PathCoRAG, section 4.2, equations 3 and 4; `rank` and `min_score` as its released code.
    """
    texts = [query for queries in reasoning_steps.queries for query in queries]
    of = np.repeat(
        np.arange(len(reasoning_steps)), [len(queries) for queries in reasoning_steps.queries]
    )
    typed = nodes_of(graph, types)
    if not texts or not len(node_index):
        return StepNodes.empty()
    vectors = embedder.encode(texts, kind="question")
    (hits,) = searched([vectors], node_index, per_query, typed)
    hits = [hit.take(hit.scores >= min_score) for hit in hits]
    nodes = np.unique(np.concatenate([hit.ids for hit in hits]))
    similarity = np.full((len(nodes), len(texts)), -np.inf)
    rank = similarity.copy()
    for column, hit in enumerate(hits):
        if assign == "all":
            similarity[:, column] = node_index.vectors[nodes] @ vectors[column]
        similarity[np.searchsorted(nodes, hit.ids), column] = hit.scores
        rank[np.searchsorted(nodes, hit.ids), column] = -np.arange(len(hit))
    best = _best_of_steps(similarity, of, len(reasoning_steps))
    by = _best_of_steps(rank, of, len(reasoning_steps)) if assign == "rank" else best
    chosen = np.argmax(np.round(by, DECIMALS), axis=1)
    scores = best[np.arange(len(nodes)), chosen]
    order = best_first(scores, nodes)
    return StepNodes(nodes[order], chosen[order] + 1, scores[order], len(reasoning_steps))


def _best_of_steps(values: FloatArray, of: IntArray, n_steps: int) -> FloatArray:
    best: FloatArray = np.full((len(values), n_steps), -np.inf)
    for step in np.unique(of).tolist():
        best[:, step] = values[:, of == step].max(axis=1)
    return best
