"""Random walks on a graph, and personalised PageRank, exact or by forward push."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.views import inverse, transition_of
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.columns import sorted_csr
from graphrag_bench.text import show_briefly

Contains = Literal["one", "share"]


@show_briefly
@dataclass(frozen=True, eq=False)
class Walk:
    """Random walk on a graph with undirected weighted edges.

    `transition` (float64 CSR, n x n) is the transposed transition matrix P^T. Its columns of
    isolated nodes are 0. `strength` is the summed weight of each node's edges.
    """

    transition: Any
    strength: FloatArray

    def __len__(self) -> int:
        return len(self.strength)

    @cached_property
    def isolated(self) -> IntArray:
        """Nodes without edges, int64."""
        return np.flatnonzero(self.strength == 0)


def walk_of_nodes(graph: Graph, *, weighted: bool = True) -> Walk:
    """Return the random walk on the nodes of a graph. If not `weighted`, all weights are 1."""
    key = ("nodes", weighted)
    if key not in graph.walks:
        weights = graph.adjacency if weighted else graph.adjacency.astype(bool).astype(np.float64)
        graph.walks[key] = _walk(weights, graph.transition if weighted else None)
    walk: Walk = graph.walks[key]
    return walk


def _walk(weights: Any, transition: Any = None) -> Walk:
    strength = np.asarray(weights.sum(axis=1), np.float64).ravel()
    return Walk(transition_of(weights) if transition is None else transition, strength)


def walk_with_chunks(
    graph: Graph, *, relationships: bool, contains: Contains, contains_weight: float = 1.0
) -> Walk:
    """Return the random walk on the nodes and chunks of a graph, from a cache.

    Nodes come before chunks. An edge of weight `contains_weight` joins each node to each of its
    chunks. If `contains` is "share", the weight is divided by the number of nodes in the chunk. If
    `relationships` is true, relationships and synonymy edges also join nodes.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.2; LinearRAG (Zhuang et al. 2025), for
    walks without relationships.
    """
    from scipy.sparse import bmat, diags

    key = ("chunks", relationships, contains, contains_weight)
    if key not in graph.walks:
        edges = graph.node_chunk.astype(np.float64) * contains_weight
        if contains == "share":
            edges = edges @ diags(inverse(graph.node_chunk.sum(axis=0)))
        upper = [graph.adjacency if relationships else None, edges]
        graph.walks[key] = _walk(sorted_csr(bmat([upper, [edges.T, None]])))
    walk: Walk = graph.walks[key]
    return walk


EXACT_UP_TO = 200_000
"""PageRank is exact for up to this number of nodes. For more nodes, it is approximated."""
ERROR = 2e-6
"""Error bound of forward push for a node whose strength is the mean strength of all nodes."""
AT_ONCE = 16
"""Number of questions for which exact PageRank runs at once. They need 768 bytes per node."""
REFINE_FACTOR = 4
"""Forward push refines the masses of the `REFINE_FACTOR * top_k + 100` best nodes."""


class Reset(NamedTuple):
    """Restart distribution: distinct rows of a walk, and the non-negative weight of each row."""

    rows: IntArray
    weights: FloatArray


class Mass(NamedTuple):
    """PageRank of the distinct rows in `rows` (None: all rows). All other rows have PageRank 0."""

    rows: IntArray | None
    values: FloatArray


def masses(
    walk: Walk, resets: Sequence[Reset], damping: float, top_k: int, first: int = 0
) -> Iterator[Mass]:
    """Yield the personalised PageRank of each restart distribution in `resets`.

    A distribution whose weights are all 0 is replaced by the uniform distribution. The walk
    continues with probability `damping`. Above `EXACT_UP_TO` nodes, PageRank is approximated, most
    precisely for the `top_k` best rows from row `first` on.
    """

    @cache
    def uniform() -> Mass:
        return Mass(None, personalised_pagerank(walk, np.zeros(len(walk)), damping))

    if len(walk) > EXACT_UP_TO:
        for reset in resets:
            pushed = reset.weights.any()
            yield pushed_pagerank(walk, reset, damping, top_k, first) if pushed else uniform()
        return
    for some in (resets[at : at + AT_ONCE] for at in range(0, len(resets), AT_ONCE)):
        dense = np.zeros((len(walk), len(some)))
        for column, reset in enumerate(some):
            dense[reset.rows, column] = reset.weights
        values = personalised_pagerank(walk, dense, damping)
        yield from (Mass(None, np.ascontiguousarray(column)) for column in values.T)


_STILL = 1e-10


def personalised_pagerank(walk: Walk, reset: FloatArray, damping: float) -> FloatArray:
    """Return the personalised PageRank of each restart distribution (float64, shape of `reset`).

    `reset` has the shape (n_nodes,) or (n_nodes, n_resets) and is non-negative. Each column is
    divided by its sum. A column of zeros becomes uniform. `damping` is the probability that the
    walk continues, in [0, 1). Power iteration solves `p = damping * (P^T p + m r) + (1 - damping)
    r`, where r is a column of `reset` and m is the mass of isolated nodes. It stops when no column
    changes by more than 1e-10 (L1). Each column has the same bits as if it were computed alone.
    Source: Haveliwala 2002; HippoRAG (Gutierrez et al. 2024), section 2.3.

    >>> walk = walk_of_nodes(Graph.from_arrays([0, 1], [1, 2]))
    >>> personalised_pagerank(walk, np.array([1.0, 0.0, 0.0]), damping=0.5).round(3).tolist()
    [0.583, 0.333, 0.083]
    """
    from scipy.sparse import csr_matrix

    n, weights = len(walk), reset.reshape(len(walk), -1)
    every = csr_matrix(np.ones((1, n)))
    total = every @ weights
    restart = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / max(n, 1))
    mass, result, going = restart, np.empty(restart.shape), np.arange(restart.shape[1])
    n_steps = 2 + math.ceil(math.log(_STILL / 2) / math.log(damping)) if damping else 1
    for _ in range(n_steps):
        mass, change = _step(walk, mass, restart, damping)
        if (ended := change <= _STILL).any():
            result[:, going[ended]] = mass[:, ended]
            mass, restart, going = mass[:, ~ended].copy(), restart[:, ~ended].copy(), going[~ended]
            if not len(going):
                break
    result[:, going] = mass
    return np.asarray(result / (every @ result), np.float64).reshape(reset.shape)


_IN_CACHE = 2**17
"""Up to this number of masses, scipy is as fast as the compiled loop. The results are equal."""


def _step(
    walk: Walk, mass: FloatArray, restart: FloatArray, damping: float
) -> tuple[FloatArray, FloatArray]:
    if mass.shape[1] > 1 and mass.size > _IN_CACHE:
        from graphrag_bench.algorithms.kernels import walk_step

        matrix, step = walk.transition, np.empty_like(mass)
        ways = matrix.indptr, matrix.indices, matrix.data
        return step, walk_step(*ways, walk.isolated, mass, restart, damping, step)
    step = walk.transition @ mass
    step += mass[walk.isolated].sum(axis=0) * restart
    step *= damping
    step += (1.0 - damping) * restart
    return step, np.abs(step - mass).sum(axis=0)


def pushed_pagerank(
    walk: Walk, reset: Reset, damping: float, top_k: int, first: int = 0, error: float = ERROR
) -> Mass:
    """Approximate the personalised PageRank by forward push from a restart distribution.

    The mass of node v differs from the exact mass by at most the border `error * s / mean`, where s
    is the strength of v, and mean is the mean strength of all nodes. At first, the residual of a
    node is its reset weight. A push moves the fraction `1 - damping` of a node's residual to the
    node's mass, and the rest to the residuals of its neighbours. Pushes end when no residual is
    above the border. The mass of isolated nodes returns to the reset. Because edges are undirected,
    the missing mass of v is s times the mean of residual / strength over the nodes at which walks
    from v end. This project estimates the mean, which lies between 0 and the border, from the
    residual of v and, for walks that continue, from the mean residual of the graph. The residuals
    of neighbours are used only for the best `REFINE_FACTOR * top_k + 100` rows from row `first` on.
    Source: Andersen, Chung and Lang, FOCS 2006, section 3.
    """
    from graphrag_bench.algorithms.kernels import inflow, node_masses, push

    strength, matrix = walk.strength, walk.transition
    positive = reset.weights > 0
    rows, weights = reset.rows[positive], reset.weights[positive] / reset.weights.sum()
    alone = strength[rows] == 0
    weights = weights / (1.0 - damping * weights[alone].sum())
    seeds, isolated = rows[~alone], (1.0 - damping) * weights[alone]
    state = np.zeros((len(walk), 2))
    state[seeds, 0] = weights[~alone] / strength[seeds]
    mean = float(strength.mean()) or 1.0
    starts, ways = (part.astype(np.int32, copy=False) for part in (matrix.indptr, matrix.indices))
    touched = push(starts, ways, matrix.data, seeds, damping, error / mean, state)
    share = 1 / (len(walk) * mean)
    nodes, values, onward = node_masses(touched, strength, state, damping, share)
    ranked, k = np.where(nodes >= first, values, -1.0), REFINE_FACTOR * top_k + 100
    cut = np.partition(ranked, len(ranked) - k)[len(ranked) - k] if k < len(ranked) else 0.0
    best = np.flatnonzero(ranked >= max(cut, 0.0))
    around = inflow(nodes[best], starts, ways, matrix.data, state)
    values[best] += (1.0 - damping) * (damping * around - onward * strength[nodes[best]])
    return Mass(np.concatenate([nodes, rows[alone]]), np.concatenate([values, isolated]))
