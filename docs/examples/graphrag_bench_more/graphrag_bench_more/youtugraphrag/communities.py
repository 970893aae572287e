"""Youtu-GraphRAG's communities, detected by structure and meaning."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray
from graphrag_bench.columns import bool_csr
from graphrag_bench.contract import artifact
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.graphs.communities import communities_of
from graphrag_bench.graphs.sentences import vectors_of
from graphrag_bench.progress import Progress
from graphrag_bench.values import Ranked
from graphrag_bench_more.clustering import kmeans

STRUCT_WEIGHT = 0.3
"""Weight of structure in the similarity and in the choice of keywords."""
PER_CLUSTER, MOST_CLUSTERS, SMALL = 10, 200, 3
"""Nodes per cluster, maximum clusters, and maximum size of a cluster that is not divided."""
MIN_SIMILARITY, MOST_MEMBERS = 0.5, 100
"""Thresholds for merging two parts. All these constants are defaults of Youtu-GraphRAG's code."""


@artifact("communities.dual")
def dual(*, graph: Graph, embedder: Embedder, progress: Progress) -> Communities:
    """Detect communities of one level by structure and meaning; each node is in at most one.

    A node is embedded by its attributes and its outgoing triples, or else by its name. k-means
    divides the n nodes into max(2, n // 10) clusters, at most 200. Clusters of more than three
    nodes are divided again by the same rule. The resulting parts of a cluster are merged in pairs,
    most similar pair first (ties: lower nodes), if the similarity is at least 0.5 and the pair has
    at most 100 nodes. Each part is merged at most once. The similarity of two parts is 0.3 times
    the Jaccard index of the targets of their centres plus 0.7 times the cosine of the centres'
    vectors. The centre of a part is the first node of `keywords_of`. Single nodes form no
    community. Communities are sorted by their lowest node.
    Source: Youtu-GraphRAG (Dong et al. 2025), dually-perceived community detection, and its code.
    """
    texts = subgraph_texts(graph)
    vectors = np.asarray(vectors_of(texts, embedder, progress, "embedding subgraphs"), np.float64)
    groups: list[IntArray] = []
    first = clusters(vectors, np.arange(graph.n_nodes))
    with progress.task("detecting communities", len(first)) as advance:
        for cluster in first:
            small = len(cluster) <= SMALL
            groups += (
                [cluster] if small else merge_similar(graph, vectors, clusters(vectors, cluster))
            )
            advance(1)
    parts = sorted((np.sort(one) for one in groups if len(one) > 1), key=lambda one: int(one[0]))
    return communities_of([(0, -1, members.tolist()) for members in parts], graph)


def subgraph_texts(graph: Graph) -> list[str]:
    """Return a text for each node: its outgoing triples and its attributes, or else its name."""
    names, relations = list(graph.names), list(graph.relations)
    facts: list[list[str]] = [[] for _ in names]
    for row, (head, tail) in enumerate(zip(graph.source, graph.target, strict=True)):
        facts[head].append(f"{names[head]} {relations[row]} {names[tail]}")
    if (own := graph.node_attributes) is not None:
        for row, node in enumerate(own.node.tolist()):
            facts[node].append(f"{names[node]} {own.text_of(row)}")
    return [" ".join(dict.fromkeys(texts)) or names[row] for row, texts in enumerate(facts)]


def keywords_of(graph: Graph, vectors: FloatArray, members: IntArray, k: int) -> Ranked[Any]:
    """Return the `k` most representative nodes of `members`, with ties broken by lower id.

    The score of a node is 0.3 * degree / (highest degree of `members`) + 0.7 * (cosine of its
    vector and the mean vector of `members`). `vectors` is (n_nodes, d).
    Source: Youtu-GraphRAG (Dong et al. 2025), keywords of a community, and its code.
    """
    from sklearn.metrics.pairwise import cosine_similarity

    degree = graph.degree[members].astype(np.float64)
    meaning = cosine_similarity(vectors[members], vectors[members].mean(axis=0)[None])[:, 0]
    score = STRUCT_WEIGHT * degree / max(degree.max(), 1.0) + (1 - STRUCT_WEIGHT) * meaning
    best = Ranked[Any].top(score, k)
    return Ranked(members[best.ids], best.scores)


def clusters(vectors: FloatArray, nodes: IntArray) -> list[IntArray]:
    """Return k-means clusters of some nodes by their vectors, in order of their first node."""
    wanted = min(max(2, len(nodes) // PER_CLUSTER), MOST_CLUSTERS)
    distinct = len(np.unique(np.round(vectors[nodes], DECIMALS), axis=0))
    if len(nodes) <= 2 or distinct == 1:
        return [nodes] if len(nodes) else []
    label = kmeans(vectors[nodes], min(wanted, distinct), seed=0)
    parts = [nodes[label == one] for one in np.unique(label)]
    return sorted(parts, key=lambda one: int(one[0]))


def merge_similar(graph: Graph, vectors: FloatArray, parts: Sequence[IntArray]) -> list[IntArray]:
    """Merge similar parts in pairs, and return all parts."""
    centres = np.array([keywords_of(graph, vectors, one, 1).ids[0] for one in parts])
    similar = similarity(graph, vectors, centres)
    pairs = [
        (-similar[i, j], i, j)
        for i, j in combinations(range(len(parts)), 2)
        if similar[i, j] >= MIN_SIMILARITY
    ]
    joined = {i: [part] for i, part in enumerate(parts)}
    used: set[int] = set()
    for _, i, j in sorted(pairs):
        if len(parts[i]) + len(parts[j]) <= MOST_MEMBERS and not used & {i, j}:
            used |= {i, j}
            joined[i] += joined.pop(j)
    return [np.concatenate(some) for some in joined.values()]


def similarity(graph: Graph, vectors: FloatArray, centres: IntArray) -> FloatArray:
    """Return the similarity of each pair of centres, (n, n), rounded to six decimals."""
    from sklearn.metrics.pairwise import cosine_similarity

    leading_to = bool_csr(graph.source, graph.target, (graph.n_nodes, graph.n_nodes))
    near = leading_to[centres].astype(np.float64)
    shared = (near @ near.T).toarray()
    sizes = np.asarray(near.sum(axis=1)).ravel()
    union = sizes[:, None] + sizes[None] - shared
    jaccard = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    meaning = cosine_similarity(vectors[centres])
    mean = STRUCT_WEIGHT * jaccard + (1 - STRUCT_WEIGHT) * meaning
    return np.asarray(np.round(mean, DECIMALS))
