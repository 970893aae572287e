"""SubgraphRAG's trained scorer of triples: its features, and its inference in NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.algorithms.views import inverse
from graphrag_bench.columns import NOT_STORED, Columns, sorted_csr
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.values import FloatArray, IntArray

RowIds = NDArray[np.integer[Any]]
Means = tuple[Any, Any]
ROUNDS = 2
"""The number of propagation rounds in each direction: along the triples and against them."""
N_DISTANCES = 2 * (1 + 2 * ROUNDS)
"""The number of distance features of a node."""
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class MlpWeights(Columns):
    """Weights of SubgraphRAG's network with one ReLU layer and a sigmoid output, float32.

    `hidden` is (4 d + 20, h), `bias` and `out` are (h,), and `out_bias` is (1,). The input consists
    of the vectors of question, head, relation and tail, which have length d. The distance features
    of the head and of the tail follow, 10 numbers each. `unreadable` (d,) is the vector of nodes
    without readable text. `statistics` describe the training.
    """

    hidden: Vectors
    bias: Vectors
    out: Vectors
    out_bias: Vectors
    unreadable: Vectors
    statistics: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_STORED)

    @property
    def dimension(self) -> int:
        """The length of the vectors used in training."""
        return len(self.unreadable)


@dataclass(frozen=True, eq=False)
class MlpTripleScorer(Columns):
    """Trained weights together with the vectors of node names and relation names of one graph.

    `names` is float32 (n_nodes, d), and `readable` (bool, n_nodes) marks names with readable text.
    `relations` is float32 (n_relation_names, d). For each relationship, `relation` (int64) holds
    the row of its name in `relations`.
    """

    weights: MlpWeights
    names: Vectors
    readable: NDArray[np.bool_]
    relations: Vectors
    relation: IntArray

    def scores(
        self, source: IntArray, target: IntArray, vector: Vectors, rows: IntArray, topics: IntArray
    ) -> FloatArray:
        """Return the probability (0..1) that each relationship in `rows` helps to answer.

        `source` and `target` are the nodes of all relationships of the graph. `vector` (d,) is the
        vector of the question, and `topics` are the nodes of its topic entities.
        """
        from scipy.special import expit

        weights, d = self.weights, self.weights.dimension
        bounds = [d, 2 * d, 3 * d, 4 * d, 4 * d + N_DISTANCES]
        question, *parts, head_near, tail_near = np.split(weights.hidden, bounds)
        nodes, place = np.unique(np.stack([source[rows], target[rows]]), return_inverse=True)
        head, tail = place.reshape(2, -1)
        near = distances(means_of(head, tail, len(nodes)), np.isin(nodes, topics))
        names = np.where(self.readable[nodes, None], self.names[nodes], weights.unreadable)
        heads = names @ parts[0] + near @ head_near
        tails = names @ parts[2] + near @ tail_near
        kinds, kind = np.unique(self.relation[rows], return_inverse=True)
        relations = self.relations[kinds] @ parts[1] + (vector @ question + weights.bias)
        scores: FloatArray = np.zeros(len(rows))
        for at in range(0, len(rows), _BLOCK):
            part = slice(at, at + _BLOCK)
            inner = heads[head[part]] + relations[kind[part]] + tails[tail[part]]
            scores[part] = np.maximum(inner, 0) @ weights.out + weights.out_bias
        return np.asarray(expit(scores), np.float64)


def means_of(source: RowIds, target: RowIds, n_nodes: int) -> Means:
    """Return the matrices that average over the incoming and the outgoing triples of each node."""
    from scipy.sparse import csr_matrix, diags

    means = []
    for to, of in ((target, source), (source, target)):
        sums = csr_matrix((np.ones(len(to), np.float32), (to, of)), shape=(n_nodes, n_nodes))
        shares = inverse(np.bincount(to, minlength=n_nodes)).astype(np.float32)
        means.append(sorted_csr(diags(shares) @ sums))
    return means[0], means[1]


def distances(means: Means, is_topic: NDArray[np.bool_]) -> Vectors:
    """Return the distance features of each node to the topic entities, float32 (n, 10).

    Features 0 and 1 are the one-hot code of `is_topic` (n,). Features 2 and 3 are the average of
    features 0 and 1 over the heads of incoming triples. Features 4 and 5 are the same average of
    features 2 and 3. Features 6 to 9 are computed in the same way as 2 to 5, over the tails of
    outgoing triples. The average over no triples is 0.
    Source: SubgraphRAG (Li et al. 2025), Section 3.1, directional distance encoding.
    """
    hot = np.stack([~is_topic, is_topic], axis=1).astype(np.float32)
    rounds = [hot]
    for mean in means:
        values = hot
        for _ in range(ROUNDS):
            values = np.asarray(mean @ values, np.float32)
            rounds.append(values)
    return np.concatenate(rounds, axis=1)
