"""Personalised PageRank for many resets at once, and the walk over a graph and its chunks."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import FloatArray

Contains = Literal["one", "share"]


def personalised_pagerank(
    transition: Any, reset: FloatArray, damping: float, tolerance: float = 1e-10
) -> FloatArray:
    """The stationary mass of walks that restart at `reset`, float64, the shape of `reset`.

    Solves p = damping * (P^T p + m r) + (1 - damping) r with m the mass on isolated nodes, by
    power iteration until no column moves by more than `tolerance` (L1). `transition` is P^T, CSR
    (n_nodes, n_nodes); `reset` is (n_nodes,) or (n_nodes, n_resets), non-negative, and is
    normalised to sum to 1; a column of zeros becomes uniform. Every column of the result sums
    to 1. `damping` is the chance that the walk goes on, in [0, 1). Each column is computed as if it
    were alone, so its bits do not depend on its neighbours.
    Source: Haveliwala 2002; HippoRAG (Gutierrez et al. 2024), section 2.3.
    """
    rows = np.ascontiguousarray(np.atleast_2d(reset.T), np.float64)  # one for each reset
    total = rows.sum(axis=1, keepdims=True)
    n_nodes = max(rows.shape[1], 1)
    restart = np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / n_nodes)
    dangling = np.flatnonzero(np.asarray(transition.sum(axis=0)).ravel() == 0)
    mass = restart.copy()
    active = np.arange(len(rows))
    for _ in range(_enough(damping, tolerance)):
        if not len(active):
            break
        start, held = restart[active], mass[active]
        lost = held.take(dangling, axis=1).sum(axis=1, keepdims=True)
        walked = (transition @ np.ascontiguousarray(held.T)).T
        moved = np.ascontiguousarray(damping * (walked + lost * start) + (1.0 - damping) * start)
        change = np.abs(moved - held).sum(axis=1)
        mass[active] = moved
        active = active[change > tolerance]
    whole = mass.sum(axis=1, keepdims=True)
    return (mass / np.where(whole > 0, whole, 1.0)).T.reshape(reset.shape)


def _enough(damping: float, tolerance: float) -> int:
    """Iterations after which nothing moves by more than `tolerance`.

    Each one shrinks the move, which begins at 2 or less (L1), to `damping` times its size.
    """
    if damping == 0:
        return 1
    return 2 + max(0, math.ceil(math.log(tolerance / 2) / math.log(damping)))


def walk_with_chunks(
    graph: Graph, *, relationships: bool, contains: Contains, contains_weight: float = 1.0
) -> Any:
    """The transposed transition matrix over nodes and then chunks, float64 CSR, square.

    A node is joined to every chunk that it is in, by an edge of weight `contains_weight` (`one`),
    or of that divided by the number of nodes in the chunk (`share`). Nodes are joined by the pairs
    of the graph, synonymy edges included, unless `relationships` is false. Columns of what is
    joined to nothing are 0.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.2, passage nodes and contains edges;
    LinearRAG (Zhuang et al. 2025), entities and passages alone.
    """
    from scipy.sparse import bmat, csr_matrix, diags

    inside = graph.node_chunk.astype(np.float64) * contains_weight
    if contains == "share":
        inside = inside @ diags(_inverse(np.asarray(graph.node_chunk.sum(axis=0)).ravel()))
    among = graph.adjacency if relationships else csr_matrix((graph.n_nodes, graph.n_nodes))
    chunks = csr_matrix((graph.n_chunks, graph.n_chunks))
    joined = bmat([[among, inside], [inside.T, chunks]], format="csr")
    strength = np.asarray(joined.sum(axis=1)).ravel()
    walk = (joined @ diags(_inverse(strength))).tocsr()
    walk.sort_indices()
    return walk


def _inverse(sums: Any) -> Any:
    values = np.asarray(sums, np.float64)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
