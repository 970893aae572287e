"""PathRAG's nodes: those most similar to each keyword in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Keywords, Node, Query, Question, Ranked
from operators.similarity import searched, vectors_of

NodeQuery = Literal["per_keyword", "joined"]


@operator("node.by_keyword", batched=True, unordered="round robin over the keywords")
def by_keyword(
    question: Sequence[Question],
    keywords: Sequence[Keywords],
    *,
    node_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    node_query: NodeQuery = "per_keyword",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    top_k: PositiveInt = 40,
    types: tuple[str, ...] = (),
) -> list[Ranked[Node]]:
    """The nodes most similar to the low-level keywords: the keywords take turns, until `top_k`.

    At its turn a keyword takes its most similar node that is not taken yet (ties by lower id), and
    is skipped when all of them are, or are below `min_score`. Score: the cosine of node and
    keyword, -1..1. `joined` searches for one text, the keywords joined by commas. Without a
    keyword the question itself is the query. With `types` only nodes of these types are taken.
    Source: PathRAG (Chen et al. 2025), "Node Retrieval"; taking turns is ours, `joined` its code.
    """
    groups = vectors_of(question, [_query(one, node_query) for one in keywords], embedder)
    found = searched(groups, node_index, top_k, nodes_of(graph, types))
    return [_in_turns(hits, min_score, top_k) for hits in found]


def _query(keywords: Keywords, node_query: NodeQuery) -> Query | None:
    if not keywords.low:
        return None
    return Query((", ".join(keywords.low),) if node_query == "joined" else keywords.low)


def _in_turns(hits: Sequence[Ranked[Any]], min_score: float, top_k: int) -> Ranked[Node]:
    taken: dict[int, float] = {}
    left = [iter(hit.items()) for hit in hits]
    while left and len(taken) < top_k:
        for rows in list(left):
            new = next(((row, score) for row, score in rows if row not in taken), None)
            if new is None or new[1] < min_score:
                left.remove(rows)
            elif len(taken) < top_k:
                taken[new[0]] = new[1]
    return Ranked.of(taken)
