"""The trained triple scorer of SubgraphRAG: its features and its inference, without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.views import inverse
from graphrag_bench.columns import NOT_STORED, Columns, in_order
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.values import FloatArray, IntArray

RowIds = NDArray[np.integer[Any]]
Means = tuple[Any, Any]
ROUNDS = 2
"""Rounds of propagation along the triples, and as many against them."""

N_DISTANCES = 2 * (1 + 2 * ROUNDS)
"""Numbers that tell how a node lies to the topic entities."""

_BLOCK = 8192
_MOST_CACHED = 1 << 26


class _Parts(NamedTuple):
    question: Vectors
    head: Vectors
    relation: Vectors
    tail: Vectors
    head_near: Vectors
    tail_near: Vectors


@dataclass(frozen=True, eq=False)
class MlpWeights(Columns):
    """A layer of ReLU and a sigmoid, float32: `hidden` (4 d + 20, h), `bias` (h,), `out` (h,).

    Inputs in order: question, head, relation, tail (d each), distances of head and of tail.
    `unreadable` (d,) is the vector of every node without readable text. `statistics` are what the
    weights were trained on, in numbers and words, and what their epoch reached.
    """

    hidden: Vectors
    bias: Vectors
    out: Vectors
    out_bias: Vectors
    unreadable: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_STORED)

    @property
    def dimension(self) -> int:
        """The length of the embeddings that the weights were trained with."""
        return len(self.unreadable)


@dataclass(frozen=True, eq=False)
class MlpTripleScorer(Columns):
    """The weights with the vectors of one graph, each name and each relation embedded once.

    `names` is float32 (n_nodes, d), `readable` bool (n_nodes,), `relations` float32 (n_names of
    relations, d), and `relation` int64 (n_relationships,) tells which of them each row has.
    """

    weights: MlpWeights
    names: Vectors
    readable: NDArray[np.bool_]
    relations: Vectors
    relation: IntArray

    def scores(
        self, source: IntArray, target: IntArray, vector: Vectors, rows: IntArray | None,
        topics: IntArray, means: Means | None = None,
    ) -> FloatArray:  # fmt: skip
        """The chance, 0..1, that each of some rows helps to answer a question, (n_rows,).

        `source` and `target` are the ends of all rows of the graph; `vector` is the question's,
        `topics` are its entities. For all rows (None) `means` may be given, those of the graph.
        """
        from scipy.special import expit

        weights, parts = self.weights, self._parts
        nodes, head, tail, kind = np.arange(len(self.names)), source, target, self.relation
        if rows is not None:
            ends = np.stack([source[rows], target[rows]])
            nodes, place = np.unique(ends, return_inverse=True)
            (head, tail), kind, means = place.reshape(ends.shape), kind[rows], None
        near = distances(means or means_of(head, tail, len(nodes)), np.isin(nodes, topics))
        heads, tails = self._ends(nodes)
        heads = heads + near @ parts.head_near
        tails = tails + near @ parts.tail_near
        relations = self._relations + (vector @ parts.question + weights.bias)
        scores: FloatArray = np.zeros(len(kind))
        for at in range(0, len(kind), _BLOCK):
            part = slice(at, at + _BLOCK)
            inner = heads[head[part]] + relations[kind[part]] + tails[tail[part]]
            logits = np.maximum(inner, 0) @ weights.out + weights.out_bias
            scores[part] = expit(logits.astype(np.float64))
        return scores

    @cached_property
    def _parts(self) -> _Parts:
        d = self.weights.dimension
        ends = [d, 2 * d, 3 * d, 4 * d, 4 * d + N_DISTANCES]
        return _Parts(*np.split(self.weights.hidden, ends))

    @cached_property
    def _relations(self) -> Vectors:
        return np.asarray(self.relations @ self._parts.relation, np.float32)

    @cached_property
    def _every_end(self) -> tuple[Vectors, Vectors]:
        return self._added(np.arange(len(self.names)))

    def _ends(self, nodes: IntArray) -> tuple[Vectors, Vectors]:
        """What nodes add to the hidden layer as heads and as tails, (n, h); cached if not large."""
        if len(self.names) * len(self.weights.bias) > _MOST_CACHED:
            return self._added(nodes)
        heads, tails = self._every_end
        return heads[nodes], tails[nodes]

    def _added(self, nodes: IntArray) -> tuple[Vectors, Vectors]:
        readable = self.readable[nodes, None]
        vectors = np.where(readable, self.names[nodes], self.weights.unreadable)
        return vectors @ self._parts.head, vectors @ self._parts.tail


def means_of(source: RowIds, target: RowIds, n_nodes: int) -> Means:
    """What takes the mean over each node's incoming rows, and over its outgoing ones."""
    return _means(target, source, n_nodes), _means(source, target, n_nodes)


def distances(means: Means, is_topic: NDArray[np.bool_]) -> Vectors:
    """How each node lies to the topic entities, which `is_topic` (n,) flags: float32 (n, 10).

    The one-hot of being a topic entity or not, then its mean over a node's incoming rows, twice in
    a row, then over its outgoing rows, twice; 0 where there are none.
    Source: SubgraphRAG (Li et al. 2025), section 3.1, directional distance encoding.
    """
    hot = np.stack([~is_topic, is_topic], axis=1).astype(np.float32)
    rounds = [hot]
    for mean in means:
        values = hot
        for _ in range(ROUNDS):
            values = np.asarray(mean @ values, np.float32)
            rounds.append(values)
    return np.concatenate(rounds, axis=1)


def _means(to: RowIds, of: RowIds, n: int) -> Any:
    from scipy.sparse import csr_matrix, diags

    sums = csr_matrix((np.ones(len(to), np.float32), (to, of)), shape=(n, n))
    shares = inverse(np.bincount(to, minlength=n)).astype(np.float32)
    return in_order(diags(shares) @ sums)
