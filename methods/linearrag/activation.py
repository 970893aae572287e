"""LinearRAG: nodes activated along sentences that are similar to the question, and their chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.values import (
    DECIMALS,
    ChunkScores,
    FloatArray,
    IntArray,
    Node,
    NodeScores,
    Question,
    Ranked,
)
from methods.linearrag.tri_graph import TriGraph
from operators.similarity import BoolArray, vectors_of


@operator("node.activate", batched=True)
def activate(
    nodes: Sequence[Ranked[Node]],
    question: Sequence[Question],
    *,
    graph: Graph,
    tri_graph: TriGraph,
    sentence_index: VectorIndex,
    embedder: Embedder,
    rounds: NonNegativeInt = 2,
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5,
    sentences_per_node: PositiveInt = 1,
) -> list[tuple[Ranked[Node], NodeScores]]:
    """The nodes that the given ones activate, themselves included, and how strongly each is active.

    In each round a node takes the sentences that name it and resemble the question most
    (`sentences_per_node` of those not taken in an earlier round), and passes its score times the
    cosine of the sentence to every node that the sentence names; what is below `threshold` is not
    passed, nor does a node below it pass anything. A node's ranked score is its own (the best, of
    one given twice; negative ones count as 0) plus all that was passed to it. How strongly it is
    active is the largest single one of these, divided by 1 + the round it was passed in, 0 for
    the others. Only nodes above 0 come out. Ties by lower id.
    Deviation: the sentences of a round are marked as taken at its end and of several scores the
    best counts, so that the order of the nodes changes nothing; upstream goes node by node and
    keeps the last score. Raises UserError when the graph is not that of the sentences.
    Source: LinearRAG (Zhuang et al. 2025), semantic propagation; defaults of the released code
    (its max_iterations of 3 makes two rounds).
    """
    if len(tri_graph.names) != graph.n_nodes:
        raise UserError(
            "node.activate goes along the sentences of a Tri-Graph: build.graph=entities."
        )
    vectors = vectors_of(question, [None] * len(question), embedder)
    results = []
    for seeds, (vector,) in zip(nodes, vectors, strict=True):
        cosine = np.asarray(np.round(sentence_index.scores(vector), DECIMALS), np.float64)
        start = np.zeros(graph.n_nodes)
        np.maximum.at(start, seeds.ids, seeds.scores)
        spread = _Spread(tri_graph, cosine, threshold, sentences_per_node)
        weights, active = spread.run(start, rounds)
        ranked = Ranked[Node].top(weights, None, among=np.flatnonzero(weights > 0))
        rows = np.flatnonzero(active)
        results.append((ranked, NodeScores.sparse(rows, active[rows], graph.n_nodes)))
    return results


@dataclass(frozen=True)
class _Spread:
    tri_graph: TriGraph
    cosine: FloatArray
    threshold: float
    sentences_per_node: int

    def run(self, start: FloatArray, rounds: int) -> tuple[FloatArray, FloatArray]:
        weights, active, now = start.copy(), start.copy(), start
        visited = np.zeros(len(self.cosine), bool)
        for done in range(1, rounds + 1):
            passed = self._passed(now, visited)
            now = np.zeros(len(start))
            for node, score in passed:
                weights[node] += score
                now[node] = max(now[node], score)
            active = np.maximum(active, now / (done + 1))
            if not passed:
                break
        return weights, active

    def _passed(self, now: FloatArray, visited: BoolArray) -> list[tuple[int, float]]:
        pairs: list[tuple[int, float]] = []
        used: list[int] = []
        for node in np.flatnonzero((now > 0) & (now >= self.threshold)).tolist():
            for sentence in self._best(node, visited).tolist():
                used.append(sentence)
                score = float(now[node] * self.cosine[sentence])
                if score > 0 and score >= self.threshold:
                    named = row_ids(self.tri_graph.sentence_entity, sentence).tolist()
                    pairs += [(near, score) for near in named]
        visited[used] = True
        return pairs

    def _best(self, node: int, visited: BoolArray) -> IntArray:
        own = row_ids(self.tri_graph.entity_sentence, node)
        free = own[~visited[own]]
        return Ranked[Node].top(self.cosine, self.sentences_per_node, among=free).ids


@operator("chunk.activated", batched=True)
def activated(
    chunk_scores: Sequence[ChunkScores],
    node_scores: Sequence[NodeScores],
    *,
    tri_graph: TriGraph,
    ratio: NonNegativeFloat = 1.5,
) -> list[ChunkScores]:
    """The scores of the chunks, raised for those that name active nodes.

    Score: `ratio` * s + ln(1 + sum over nodes of a * ln(1 + m)) for a chunk of score s that names a
    node of score a m times; negative node scores count as 0. Natural logarithms.
    Source: LinearRAG (Zhuang et al. 2025), passage scores; `ratio` is that of its released code.
    """
    mentions = tri_graph.mention_weight
    return [
        ChunkScores.later(partial(_raised, chunks, nodes, mentions, ratio), len(chunks))
        for chunks, nodes in zip(chunk_scores, node_scores, strict=True)
    ]


def _raised(chunks: ChunkScores, nodes: NodeScores, mentions: Any, ratio: float) -> FloatArray:
    bonus = np.log1p(mentions @ np.maximum(nodes.values, 0.0))
    return np.asarray(ratio * chunks.values + bonus, np.float64)
