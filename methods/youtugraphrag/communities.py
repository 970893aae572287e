"""Youtu-GraphRAG's communities: by structure and meaning together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.clustering import kmeans
from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import cells
from graphrag_bench.contract import artifact
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.graphs.communities import communities_of
from graphrag_bench.graphs.sentences import vectors_of
from graphrag_bench.progress import Progress
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, Ranked

Share = Annotated[float, Field(ge=0, le=1)]
_SMALL = 3
"""Clusters of so many nodes or fewer are communities as they are."""


@artifact("communities.dual")
def dual(
    *,
    graph: Graph,
    embedder: Embedder,
    progress: Progress,
    struct_weight: Share = 0.3,
    members_per_cluster: PositiveInt = 10,
    most_clusters: PositiveInt = 200,
    min_similarity: Share = 0.5,
    most_members: PositiveInt = 100,
    seed: NonNegativeInt = 0,
) -> Communities:
    """Communities of one level, each node in one at most, by structure and by meaning.

    A node's vector is that of its text: the triples that it is the head of and its attributes, its
    name where it has neither. k-means makes max(2, n // `members_per_cluster`) clusters of n nodes,
    `most_clusters` at most; clusters of more than three nodes are clustered again by the same rule.
    Of the parts of a cluster, pairs whose centres are at least `min_similarity` similar are merged,
    the most similar first (ties: the parts with the lower nodes), each part once, to `most_members`
    nodes at most. Similarity is `struct_weight` times the Jaccard index of the nodes that both
    centres lead to, plus the rest times the cosine of their vectors. A centre is the best
    `keywords_of` its part. Groups of one node are no community. Rows are in order of their lowest
    node.
    Source: Youtu-GraphRAG (Dong et al. 2025), dually-perceived community detection, as its release
    computes it.
    """
    vectors = vectors_of(subgraph_texts(graph), embedder, progress, "embedding subgraphs")
    dual = _Detection(
        graph, np.asarray(vectors, np.float64), _leading_to(graph), struct_weight,
        members_per_cluster, most_clusters, min_similarity, most_members, seed,
    )  # fmt: skip
    groups: list[IntArray] = []
    clusters = dual.clusters(np.arange(graph.n_nodes))
    with progress.task("detecting communities", len(clusters)) as advance:
        for cluster in clusters:
            groups += [cluster] if len(cluster) <= _SMALL else dual.merged(dual.clusters(cluster))
            advance(1)
    parts = sorted((np.sort(one) for one in groups if len(one) > 1), key=lambda one: int(one[0]))
    return communities_of([(0, -1, members.tolist()) for members in parts], graph)


def subgraph_texts(graph: Graph) -> list[str]:
    """What each node states: its triples as a head and its attributes, else its name."""
    names, relations = list(graph.names), list(graph.relations)
    facts: list[list[str]] = [[] for _ in names]
    for row, (head, tail) in enumerate(zip(graph.source, graph.target, strict=True)):
        facts[head].append(f"{names[head]} {relations[row]} {names[tail]}")
    if (own := graph.node_attributes) is not None:
        for row, node in enumerate(own.node.tolist()):
            facts[node].append(f"{names[node]} {own.text_of(row)}")
    return [" ".join(dict.fromkeys(texts)) or names[row] for row, texts in enumerate(facts)]


def keywords_of(
    graph: Graph, vectors: FloatArray, members: IntArray, struct_weight: float, k: int
) -> Ranked[Any]:
    """The `k` nodes that stand for some, ties by lower id.

    Score: `struct_weight` times the degree by the largest among them, plus the rest times the
    cosine of the node's vector (n_nodes, d) with the mean of theirs.
    Source: Youtu-GraphRAG (Dong et al. 2025), keywords of a community, as its release ranks them.
    """
    degree = graph.degree[members].astype(np.float64)
    meaning = _cosines(vectors[members], vectors[members].mean(axis=0)[None])[:, 0]
    score = struct_weight * degree / max(degree.max(), 1.0) + (1 - struct_weight) * meaning
    best = Ranked[Any].top(score, k)
    return Ranked(members[best.ids], best.scores)


@dataclass(frozen=True, eq=False)
class _Detection:
    graph: Graph
    vectors: FloatArray
    leading_to: Any
    struct_weight: float
    members_per_cluster: int
    most_clusters: int
    min_similarity: float
    most_members: int
    seed: int

    def clusters(self, nodes: IntArray) -> list[IntArray]:
        wanted = min(max(2, len(nodes) // self.members_per_cluster), self.most_clusters)
        distinct = len(np.unique(np.round(self.vectors[nodes], DECIMALS), axis=0))
        if len(nodes) <= 2 or distinct == 1:
            return [nodes] if len(nodes) else []
        label = kmeans(self.vectors[nodes], min(wanted, distinct), self.seed)
        parts = [nodes[label == one] for one in np.unique(label)]
        return sorted(parts, key=lambda one: int(one[0]))

    def merged(self, parts: Sequence[IntArray]) -> list[IntArray]:
        weight = self.struct_weight
        centres = np.array(
            [keywords_of(self.graph, self.vectors, one, weight, 1).ids[0] for one in parts]
        )
        similar = self._similarity(centres)
        pairs = [
            (-similar[i, j], i, j)
            for i, j in combinations(range(len(parts)), 2)
            if similar[i, j] >= self.min_similarity
        ]
        of = list(range(len(parts)))
        used: set[int] = set()
        for _, i, j in sorted(pairs):
            room = len(parts[i]) + len(parts[j]) <= self.most_members
            if room and i not in used and j not in used:
                used |= {i, j}
                of[j] = i
        return [
            np.concatenate([parts[j] for j in range(len(parts)) if of[j] == i])
            for i in range(len(parts))
            if of[i] == i
        ]

    def _similarity(self, centres: IntArray) -> FloatArray:
        """Of each centre with each, rounded so that ties are ties."""
        near = self.leading_to[centres].astype(np.float64)
        shared = (near @ near.T).toarray()
        sizes = np.asarray(near.sum(axis=1)).ravel()
        union = sizes[:, None] + sizes[None] - shared
        jaccard = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        meaning = _cosines(self.vectors[centres], self.vectors[centres])
        weight = self.struct_weight
        return np.asarray(np.round(weight * jaccard + (1 - weight) * meaning, DECIMALS))


def _cosines(rows: FloatArray, others: FloatArray) -> FloatArray:
    units = [
        one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9) for one in (rows, others)
    ]
    return np.asarray(units[0] @ units[1].T, np.float64)


def _leading_to(graph: Graph) -> Any:
    n = graph.n_nodes
    source, target = (np.asarray(ends, np.int64) for ends in (graph.source, graph.target))
    return cells(source, target, (n, n))
