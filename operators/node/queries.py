"""Nodes by several queries at once: keywords in turn, and the queries of reasoning steps."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.path_values import ReasoningSteps, StepNodes
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import (
    DECIMALS,
    FloatArray,
    IntArray,
    Keywords,
    Node,
    Query,
    Question,
    Ranked,
    best_first,
)
from operators.similarity import searched, vectors_of

NodeQuery = Literal["per_keyword", "joined"]


@operator("node.by_keyword", batched=True, unordered="round robin over the keywords")
def by_keyword(
    question: Sequence[Question],
    keywords: Sequence[Keywords],
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    node_query: NodeQuery = "per_keyword",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    top_k: PositiveInt = 40,
) -> list[Ranked[Node]]:
    """The nodes most similar to the low-level keywords: the keywords take turns, until `top_k`.

    At its turn a keyword takes its most similar node that is not taken yet (ties by lower id), and
    is skipped when all of them are, or are below `min_score`. Score: the cosine of node and
    keyword, -1..1. `joined` searches for one text, the keywords joined by commas. Without a
    keyword the question itself is the query.
    Source: PathRAG (Chen et al. 2025), "Node Retrieval"; taking turns is ours, `joined` its code.
    """
    groups = vectors_of(question, [_query(one, node_query) for one in keywords], embedder)
    rankings = searched(groups, node_index, top_k)
    return [_in_turns(hits, min_score, top_k) for hits in rankings]


def _query(keywords: Keywords, node_query: NodeQuery) -> Query | None:
    if not keywords.low:
        return None
    return Query((", ".join(keywords.low),) if node_query == "joined" else keywords.low)


def _in_turns(hits: Sequence[Ranked[Any]], min_score: float, top_k: int) -> Ranked[Node]:
    score_of: dict[int, float] = {}
    queues = [iter(hit.items()) for hit in hits]
    while queues and len(score_of) < top_k:
        for rows in list(queues):
            new = next(((row, score) for row, score in rows if row not in score_of), None)
            if new is None or new[1] < min_score:
                queues.remove(rows)
            elif len(score_of) < top_k:
                score_of[new[0]] = new[1]
    return Ranked.of(score_of)


@operator("node.by_step")
def by_step(
    reasoning_steps: ReasoningSteps,
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    per_query: PositiveInt = 50,
    assign: Literal["all", "retrieved_only", "rank"] = "all",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
) -> StepNodes:
    """The `per_query` nodes most similar to each extended query, each with its step, best first.

    Score: the highest cosine of node and query, -1..1; ties by lower id. A node belongs to the step
    of its most similar query (by six decimals), the first of equal ones; every query of a step
    counts, or with `retrieved_only` only those that found the node; with `rank` that step has it
    among whose queries it ranks best, and the score is the highest of those that found it there. A
    query does not find nodes below `min_score`. A step without queries has no node.
    Source: PathCoRAG, section 4.2, equations 3 and 4; `rank` and `min_score` as its released code.
    """
    texts = [query for queries in reasoning_steps.queries for query in queries]
    of = np.repeat(
        np.arange(len(reasoning_steps)), [len(queries) for queries in reasoning_steps.queries]
    )
    if not texts or not len(node_index):
        return StepNodes.empty()
    vectors = embedder.encode(texts, kind="question")
    (hits,) = searched([vectors], node_index, per_query)
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
