"""GFM-RAG's retrieval: entities scored by a graph network, and passages by the entities in them."""

from collections.abc import Sequence

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.query_gnn import EntityScorer, mentions_weight
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.values import Chunk, Node, Question, Ranked


@operator("node.query_gnn", batched=True)
def query_gnn(
    question: Sequence[Question],
    nodes: Sequence[Ranked[Node]],
    *,
    entity_scorer: EntityScorer,
    graph: Graph,
    embedder: Embedder,
    inverse_start: bool = True,
    top_k: PositiveInt | None = 20,
) -> list[Ranked[Node]]:
    """The nodes that the answer most likely needs, as the graph network scores them.

    It starts with the question's state at the given nodes, each once, and passes it along the
    relationships; no nodes find none. Score: a logit, any number; ties by lower id; `top_k` of
    null gives every node. With `inverse_start` a node begins with one over the number of chunks
    that name it, else with one. What a question gets does not depend on the others.
    Source: GFM-RAG (Luo et al. 2025), its release (`init_entities_weight`).
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    weight = mentions_weight(graph) if inverse_start else np.ones(graph.n_nodes)
    rankings: list[Ranked[Node]] = []
    for vector, start in zip(vectors, nodes, strict=True):
        rows = np.unique(start.ids)
        if not len(rows):
            rankings.append(Ranked.empty())
            continue
        logits = entity_scorer.logits(vector, weight[rows], rows)
        rankings.append(Ranked[Node].top(logits, top_k))
    return rankings


@operator("chunk.by_entities")
def by_entities(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    inverse: bool = True,
    scored: bool = False,
    top_k: PositiveInt = 4,
) -> Ranked[Chunk]:
    """The chunks that name the most of the given nodes, each by one over the chunks that name it.

    Score: the sum over the nodes in the chunk; without `inverse` each counts alike. With `scored`
    a node counts by its score as well, which may be negative; chunks that name none of the nodes
    are left out. Ties by lower id.
    Source: GFM-RAG (Luo et al. 2025), its release: four document rankers, of which this is the
    one of its configuration (`inverse`, over the 20 best entities).
    """
    weight = mentions_weight(graph)[nodes.ids] if inverse else np.ones(len(nodes))
    if scored:
        weight = weight * nodes.scores
    named = graph.node_chunk[nodes.ids].astype(bool).astype(np.float64)
    scores = named.T @ weight
    return Ranked[Chunk].top(scores, top_k, among=np.unique(named.indices))
