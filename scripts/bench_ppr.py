"""Personalised PageRank against igraph's prpack in the same run, on seeded graphs.

Graphs have power-law degrees (exponent 2.5): the ends of relationships are drawn by weights. All
questions have three seeds of equal weight, and every second question a hub among them. `ours` and
`reference` are questions a second, the median over the questions, p50 and p95 milliseconds of ours
for a question, p95 the slow end; `ratio` is how many times faster ours is. Neither side is timed
for setting up its graph; igraph converts its graph for prpack within each call, and has no way
around that. Kernels are compiled before: `compile_s` and
`first_call_s` are the first calls in seconds, with compiling only where disk has no kernels yet.

`overlap` is the share of the 100 best nodes that are among the exact 100 best, the mean over the
questions; the exact ones are those of igraph, ranked as ours: six decimals, then id.
"""

import time
from collections.abc import Sequence
from typing import Any

import igraph
import numpy as np
from timing import Numbers, milliseconds, seconds

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import (
    How,
    Mass,
    Reset,
    Walk,
    masses,
    walk_of_nodes,
    walk_with_chunks,
)
from graphrag_bench.values import ChunkScores, FloatArray, IntArray, Node, Ranked
from operators.chunk.ppr import ppr as chunk_ppr
from operators.node.ppr import ppr as node_ppr

EXPONENT = 2.5
N_MILLION, N_300K, N_16K = (1_000_000, 5_000_000), (300_000, 1_500_000), (16_000, 23_000)
N_CHUNKS, ENTITIES_PER_CHUNK = 100_000, 8
N_QUESTIONS, N_BATCH, N_REPEATS = 8, 100, 3
TOP = 100


def drawn(chance: np.random.Generator, n_nodes: int, n_draws: int) -> IntArray:
    """Nodes drawn by weights of a power law, the hubs spread over the ids."""
    weights = (1.0 + np.arange(n_nodes)) ** (-1.0 / (EXPONENT - 1.0))
    places = np.searchsorted(np.cumsum(weights / weights.sum()), chance.random(n_draws))
    order = np.random.default_rng(1).permutation(n_nodes)
    return np.asarray(order[np.minimum(places, n_nodes - 1)], np.int64)


def world(n_nodes: int, n_relationships: int) -> Graph:
    """A graph of so many nodes and relationships; parallel ones add up to a weight."""
    chance = np.random.default_rng(0)
    ends = drawn(chance, n_nodes, 2 * n_relationships).reshape(2, -1)
    return Graph.from_arrays(ends[0], ends[1], n_nodes=n_nodes)


def seeds(walk: Walk, n_questions: int) -> list[IntArray]:
    """Three seeds for each question, no isolated ones; each second question begins at a hub."""
    chance = np.random.default_rng(2)
    joined = np.flatnonzero(walk.strength > 0)
    hubs = np.argsort(-walk.strength, kind="stable")[: 10 * n_questions]
    starts = [chance.choice(joined, 3, replace=False) for _ in range(n_questions)]
    for number in range(0, n_questions, 2):
        starts[number][0] = chance.choice(hubs)
    return [np.unique(one) for one in starts]


def same_in_igraph(walk: Walk) -> Any:
    """The walk's graph, weighted, in igraph."""
    from scipy.sparse import diags, triu

    half = triu(walk.transition @ diags(walk.strength), format="coo")
    view = igraph.Graph(n=len(walk), edges=np.stack([half.row, half.col], axis=1))
    view.es["weight"] = half.data
    return view


def prpack(view: Any, rows: IntArray, damping: float) -> FloatArray:
    """The mass of all nodes by igraph, float64 (n_nodes,)."""
    scores = view.personalized_pagerank(
        reset_vertices=rows.tolist(), damping=damping, weights="weight", implementation="prpack"
    )
    return np.array(scores)


def top100(damping: float) -> Numbers:
    """The 100 best of a million nodes by `node.ppr`, one question at a time."""
    graph = world(*N_MILLION)
    walk = walk_of_nodes(graph)
    view, questions = same_in_igraph(walk), seeds(walk, N_QUESTIONS)

    def ours(rows: IntArray) -> Ranked[Node]:
        start = Ranked[Node](rows, np.ones(len(rows)))
        rankings = node_ppr([start], graph=graph, damping=damping, reset="uniform", top_k=TOP,
                         method="push")  # fmt: skip
        return rankings[0][0]

    compiled = seconds(lambda: ours(questions[0]))
    mine, other, overlap = [], [], []
    for rows in questions:
        mine.append(float(np.median([seconds(lambda at=rows: ours(at)) for _ in range(N_REPEATS)])))
        began = time.perf_counter()
        exact = prpack(view, rows, damping)
        other.append(time.perf_counter() - began)
        best = Ranked[Node].top(exact, TOP).ids
        overlap.append(len(np.intersect1d(best, ours(rows).ids)) / len(best))
    return milliseconds(1, mine, other, overlap=float(np.mean(overlap)), compile_s=compiled)


def exact_masses(size: tuple[int, int], n_questions: int, damping: float = 0.5) -> Numbers:
    """The exact mass of all nodes for a batch of questions; `alone_ms` is one question by itself.

    The reference answers the first questions of the batch one by one.
    """
    walk = walk_of_nodes(world(*size))
    view, questions = same_in_igraph(walk), seeds(walk, n_questions)
    resets = [Reset(rows, np.full(len(rows), 1 / len(rows))) for rows in questions]

    def ours(resets: Sequence[Reset]) -> list[Mass]:
        return list(masses(walk, resets, How(damping, method="exact"), top_k=1))

    compiled = seconds(lambda: ours(resets)) + seconds(lambda: ours(resets[:1]))
    mine, other, alone = [], [], []
    for rows, reset in zip(questions[:N_QUESTIONS], resets, strict=False):
        mine.append(seconds(lambda: ours(resets)) / n_questions)
        alone.append(seconds(lambda one=reset: ours([one])))
        other.append(seconds(lambda at=rows: prpack(view, at, damping)))
        if np.abs(prpack(view, rows, damping) - ours([reset])[0].values).sum() > 1e-6:
            raise AssertionError("a mass differs from that of igraph")
    alone_ms = 1000 * float(np.median(alone))
    return milliseconds(1, mine, other, alone_ms=alone_ms, first_call_s=compiled)


def chunks_100k() -> Numbers:
    """`chunk.ppr` over entities and passages, 200 passages in the reset, against prpack.

    `overlap` is that of the ten best chunks; `first_call_s` makes the walk, once for a graph.
    """
    graph = passages()
    chance, walk_settings = np.random.default_rng(3), {"relationships": False, "contains": "one"}
    began = time.perf_counter()
    walk = walk_with_chunks(graph, **walk_settings)
    first = time.perf_counter() - began
    view = same_in_igraph(walk)
    nodes = Walk(None, walk.strength[: graph.n_nodes])
    mine, other, overlap = [], [], []
    for number, rows in enumerate(seeds(nodes, N_QUESTIONS)):
        near = chance.choice(graph.n_chunks, 200, replace=False)
        weights = chance.random(200)
        scores = ChunkScores.sparse(near, weights / weights.sum(), graph.n_chunks)
        start = Ranked[Node](rows, np.full(len(rows), 1 / len(rows)))

        def ours(at: Ranked[Node] = start, of: ChunkScores = scores) -> Ranked[Any]:
            return chunk_ppr([at], [of], graph=graph, joined="chunks", passage_weight=0.2,
                             top_k=10)[0]  # fmt: skip

        if number == 0:
            first += seconds(ours)
        mine.append(float(np.median([seconds(ours) for _ in range(N_REPEATS)])))
        reset = np.zeros(len(walk))
        reset[rows], reset[graph.n_nodes + near] = 1 / len(rows), 0.2 * weights / weights.sum()
        began = time.perf_counter()
        theirs = view.personalized_pagerank(
            reset=reset.tolist(), damping=0.5, weights="weight", implementation="prpack"
        )
        other.append(time.perf_counter() - began)
        mass = np.array(theirs)[graph.n_nodes :]
        best = Ranked[Any].top(mass / mass.max(), 10).ids
        overlap.append(len(np.intersect1d(best, ours().ids)) / len(best))
    return milliseconds(1, mine, other, overlap=float(np.mean(overlap)), first_call_s=first)


def passages() -> Graph:
    """300,000 entities in 100,000 chunks, about eight in each, by a power law."""
    from scipy.sparse import csr_matrix

    from graphrag_bench.columns import Texts

    n_nodes, n_inside = N_300K[0], N_CHUNKS * ENTITIES_PER_CHUNK
    chance = np.random.default_rng(0)
    of = drawn(chance, n_nodes, n_inside)
    inside = csr_matrix(
        (np.ones(n_inside, bool), (of, np.arange(n_inside) // ENTITIES_PER_CHUNK)),
        shape=(n_nodes, N_CHUNKS),
    )
    inside.sum_duplicates()
    none = np.zeros(0, np.int64)
    return Graph(
        names=Texts.of([f"node {row}" for row in range(n_nodes)]),
        source=none, target=none, weight=np.zeros(0), synonym=np.zeros(0, bool),
        relations=Texts.of([]), node_chunk=inside,
        relationship_chunk=csr_matrix((0, N_CHUNKS), dtype=bool),
    )  # fmt: skip


CASES = {
    "top100_1m": lambda: top100(0.5),
    "top100_1m_085": lambda: top100(0.85),
    "batch_16k": lambda: exact_masses(N_16K, N_BATCH),
    "chunk_ppr_100k": chunks_100k,
}
