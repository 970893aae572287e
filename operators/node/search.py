"""Nodes by vector search and by TF-IDF."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.indices.words import Tfidf
from graphrag_bench.values import Node, Query, Question, Ranked
from operators.similarity import most_similar


@operator("node.vdb", table3="VDB", batched=True)
def vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    node_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    top_k: PositiveInt = 4,
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    score: Literal["cosine", "share"] = "cosine",
    types: tuple[str, ...] = (),
) -> list[Ranked[Node]]:
    """The nodes most similar to the question, or to a query that the step uses instead.

    Score: cosine, -1..1; of several query texts the best one counts. Nodes below `min_score` are
    left out. Ties by lower id. In a tree all layers compete. With `types` only nodes of these types
    are searched. With `score="share"` the score of a node is (1 + cosine) / 2, divided by the sum
    of those of all nodes found, in the same order.
    Source: Zhou et al. 2025, section 6.1, node "VDB"; `share` as fast-graphrag's released code.
    """
    rankings = most_similar(question, query, node_index, embedder, top_k, nodes_of(graph, types))
    rankings = [one.take(one.scores >= min_score) for one in rankings]
    return rankings if score == "cosine" else [_shares(one) for one in rankings]


def _shares(nodes: Ranked[Node]) -> Ranked[Node]:
    half = (1.0 + nodes.scores) / 2.0
    return Ranked(nodes.ids, half / (half.sum() or 1.0))


@operator("node.tfidf", table3="TF-IDF")
def tfidf(
    question: Question,
    query: Query | None = None,
    nodes: Ranked[Node] | None = None,
    *,
    tfidf: Tfidf,
    top_k: PositiveInt = 4,
) -> Ranked[Node]:
    """The nodes whose texts share the rarest words with the question, or with a query used instead.

    Score: cosine of TF-IDF vectors, 0..1; of several query texts the best one counts. A step that
    uses `nodes` ranks those alone. Nodes that share no word are left out. Ties by lower id.
    Source: Zhou et al. 2025, section 6.1, node "TF-IDF"; KGP (Wang et al. 2024), section 3.
    """
    texts = (question.text,) if query is None else query.texts
    if not texts:
        return Ranked.empty()
    scores = np.max([tfidf.scores(text) for text in texts], axis=0)
    candidates = np.arange(len(scores)) if nodes is None else nodes.ids
    return Ranked.top(scores, top_k, among=candidates[scores[candidates] > 0])
