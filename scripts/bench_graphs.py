"""Benchmarks of personalised PageRank (`ppr`) and vector search (`vdb`).

`ppr` compares with prpack in igraph. The degrees of the graph follow a power law (exponent 2.5).
Each question has three seeds; every second question has a hub. Our graph is prepared and our
kernels are compiled before, but igraph converts graph and seeds in each call. `overlap` is the mean
fraction of the exact top k that is in our top k. `vdb` compares with `faiss.knn` over the same
memory-mapped float32 vectors. `recall` is the fraction of its results that are in ours.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import faiss
import igraph
import numpy as np
from bench import Measurement, in_turns, milliseconds, seconds
from numpy.lib.format import open_memmap
from scipy.sparse import csr_matrix, diags, triu

from graphrag_bench.algorithms import pagerank
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import Walk, walk_of_nodes, walk_with_chunks
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import ChunkScores, Node, Ranked
from operators.pagerank import chunk_ppr, node_ppr

Question = tuple[Callable[[], Ranked[Any]], Callable[[], FloatArray]]
"""Functions that compute our ranking, and the exact scores of all candidates."""
N_QUESTIONS, N_REPEATS = 8, 3
DIMENSION, TOP_K, BLOCK = 384, 20, 50_000


def draw_nodes(n_nodes: int, n_draws: int) -> IntArray:
    """Sample nodes so that P(degree = d) is proportional to d ** -2.5; hubs have random ids."""
    weights = (1.0 + np.arange(n_nodes)) ** (-1.0 / (2.5 - 1.0))
    chance = np.random.default_rng(0).random(n_draws)
    places = np.searchsorted(np.cumsum(weights / weights.sum()), chance)
    order = np.random.default_rng(1).permutation(n_nodes)
    return np.asarray(order[np.minimum(places, n_nodes - 1)], np.int64)


def random_graph(n_nodes: int, n_relationships: int) -> Graph:
    """Return a random graph; weights of parallel relationships are added."""
    ends = draw_nodes(n_nodes, 2 * n_relationships).reshape(2, -1)
    return Graph.from_arrays(*ends, n_nodes=n_nodes)


def draw_seeds(strength: FloatArray) -> list[IntArray]:
    """Return three connected seeds for each question; every second question has a hub."""
    chance = np.random.default_rng(2)
    joined = np.flatnonzero(strength > 0)
    hubs = np.argsort(-strength, kind="stable")[: 10 * N_QUESTIONS]
    starts = [chance.choice(joined, 3, replace=False) for _ in range(N_QUESTIONS)]
    for start in starts[::2]:
        start[0] = chance.choice(hubs)
    return [np.unique(one) for one in starts]


def prpack(walk: Walk, damping: float) -> Callable[[IntArray, FloatArray], FloatArray]:
    """Return igraph's PageRank on the graph of the walk, as a function of seeds and weights."""
    half = triu(walk.transition @ diags(walk.strength), format="coo")
    graph = igraph.Graph(n=len(walk), edges=np.stack([half.row, half.col], axis=1))
    graph.es["weight"] = half.data
    rank = partial(graph.personalized_pagerank, damping=damping, weights="weight",
                   implementation="prpack")  # fmt: skip

    def exact(rows: IntArray, weights: FloatArray) -> FloatArray:
        reset = np.zeros(len(walk))
        reset[rows] = weights
        return np.array(rank(reset=reset.tolist()))

    return exact


def compare_with_exact(questions: Iterable[Question], top: int) -> Measurement:
    """Return the rates of both functions over the questions, and the mean overlap of the top k."""
    mine, other, overlap = [], [], []
    for ours, exact in questions:
        found, best = ours(), Ranked[Any].top(exact(), top).ids
        overlap.append(len(np.intersect1d(best, found.ids)) / len(best))
        mine.append(float(np.median([seconds(ours) for _ in range(N_REPEATS)])))
        other.append(seconds(exact))
    return milliseconds(1, mine, other, overlap=float(np.mean(overlap)))


def top100(damping: float) -> Measurement:
    """Measure `node.ppr`: the top 100 of a million nodes, one question at a time."""
    graph = random_graph(1_000_000, 5_000_000)
    walk = walk_of_nodes(graph)
    exact = prpack(walk, damping)

    def ours(rows: IntArray) -> Ranked[Node]:
        start = [Ranked[Node](rows, np.ones(len(rows)))]
        return node_ppr(start, graph=graph, top_k=100, damping=damping, reset="uniform")[0][0]

    seeds = draw_seeds(walk.strength)
    questions = ((partial(ours, rows), partial(exact, rows, np.ones(len(rows)))) for rows in seeds)
    return compare_with_exact(questions, 100)


def chunk_ppr_100k() -> Measurement:
    """Measure `chunk.ppr` over 300,000 entities and 100,000 passages; 200 passages are seeds."""
    n_nodes, n_chunks, per_chunk = 300_000, 100_000, 8
    where = draw_nodes(n_nodes, n_chunks * per_chunk), np.arange(n_chunks * per_chunk) // per_chunk
    inside = csr_matrix((np.ones(len(where[0]), bool), where), shape=(n_nodes, n_chunks))
    inside.sum_duplicates()
    none = np.zeros(0, np.int64)
    names = Texts.of([f"node {row}" for row in range(n_nodes)])
    graph = Graph(names=names, source=none, target=none, weight=np.zeros(0), node_chunk=inside,
                  synonym=np.zeros(0, bool), relations=Texts.of([]),
                  relationship_chunk=csr_matrix((0, n_chunks), dtype=bool))  # fmt: skip
    walk = walk_with_chunks(graph, relationships=False, contains="one")
    exact, chance = prpack(walk, 0.5), np.random.default_rng(3)

    def question(rows: IntArray) -> Question:
        near, weights = chance.choice(n_chunks, 200, replace=False), chance.random(200)
        weights /= weights.sum()
        start = Ranked[Node](rows, np.full(len(rows), 1 / len(rows)))
        scores = ChunkScores.sparse(near, weights, n_chunks)
        seeds = np.concatenate([rows, n_nodes + near])
        restarts = np.concatenate([start.scores, 0.2 * weights])

        def theirs() -> FloatArray:
            mass = exact(seeds, restarts)[n_nodes:]
            return mass / mass.max()

        ours = partial(chunk_ppr, [start], [scores], graph=graph, joined="chunks",
                       passage_weight=0.2, top_k=10)  # fmt: skip
        return lambda: ours()[0], theirs

    return compare_with_exact(map(question, draw_seeds(walk.strength[:n_nodes])), 10)


def exact_90k() -> Measurement:
    """Measure exact PageRank of 16 questions against SciPy, whose results must be identical."""
    walk = walk_of_nodes(random_graph(90_000, 550_000))
    resets = np.random.default_rng(4).random((len(walk), 16))
    ours = partial(pagerank.personalised_pagerank, walk, resets, 0.5)

    def by_scipy() -> FloatArray:
        with patch.object(pagerank, "_IN_CACHE", resets.size):
            return ours()

    if not np.array_equal(ours(), by_scipy()):
        raise AssertionError("the results differ from SciPy's results")
    return milliseconds(16, *in_turns(ours, by_scipy, N_REPEATS))


def unit_rows(n_rows: int, seed: int) -> Vectors:
    """Return uniformly random unit vectors."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def search(n_rows: int, n_questions: int, n_repeats: int) -> Measurement:
    """Measure a vector search; raises AssertionError if the recall against faiss is too low."""
    questions = unit_rows(n_questions, seed=0)
    with TemporaryDirectory() as folder:
        vectors = open_memmap(f"{folder}/vectors.npy", "w+", np.float32, (n_rows, DIMENSION))
        for start in range(0, n_rows, BLOCK):
            vectors[start : start + BLOCK] = unit_rows(BLOCK, seed=start + 1)
        del vectors
        index = VectorIndex.load(Path(folder))

        def faiss_rows() -> IntArray:
            hits = faiss.knn(questions, index.vectors, TOP_K, metric=faiss.METRIC_INNER_PRODUCT)
            return np.asarray(hits[1])

        found = [ranked.ids for ranked in index.search(questions, TOP_K)]
        both = [len(np.intersect1d(*pair)) for pair in zip(found, faiss_rows(), strict=True)]
        if (recall := sum(both) / (TOP_K * n_questions)) < 0.99:
            raise AssertionError(f"recall against faiss is only {recall:.4f}")
        times = in_turns(lambda: index.search(questions, TOP_K), faiss_rows, n_repeats)
    return milliseconds(n_questions, *times, recall=recall)


SUITES = {
    "ppr": {
        "top100_1m": partial(top100, 0.5), "top100_1m_085": partial(top100, 0.85),
        "chunk_ppr_100k": chunk_ppr_100k, "exact_90k": exact_90k,
    },
    "vdb": {
        "batch_1m": partial(search, 1_000_000, 1000, 3),
        "one_1m": partial(search, 1_000_000, 1, 15),
        "batch_100k": partial(search, 100_000, 1000, 6),
    },
}  # fmt: skip
