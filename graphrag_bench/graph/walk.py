"""Walks over a graph, and over a graph and its chunks, each made once for a graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import BoolArray, nodes_of
from graphrag_bench.graph.views import transition_of
from graphrag_bench.text import show_briefly
from graphrag_bench.values import FloatArray, IntArray

Contains = Literal["one", "share"]


@dataclass(frozen=True, eq=False)
class Walk:
    """A random walk over undirected weighted edges.

    `transition` is P^T, float64 CSR (n, n): row v holds the chances to come to v, by where from;
    columns of what is joined to nothing are 0. `strength`, float64 (n,), is the summed weight of
    the edges of each node.
    """

    transition: Any
    strength: FloatArray

    def __len__(self) -> int:
        return len(self.strength)

    @cached_property
    def isolated(self) -> IntArray:
        """The nodes that are joined to nothing, int64."""
        return np.flatnonzero(self.strength == 0)

    @cached_property
    def mean_strength(self) -> float:
        """The mean strength of a node, 0 where no two are joined."""
        return float(self.strength.mean()) if len(self) else 0.0


def walk_of_nodes(graph: Graph, *, weighted: bool = True) -> Walk:
    """The walk over the nodes of a graph by the weights of their pairs; made once for a graph.

    Without `weighted` every pair has weight 1.
    """
    key = ("nodes", weighted)
    if key not in graph.walks:
        adjacency = graph.adjacency if weighted else _of_ones(graph.adjacency)
        strength = np.asarray(adjacency.sum(axis=1), np.float64).ravel()
        transition = graph.transition if weighted else transition_of(adjacency)
        graph.walks[key] = Walk(transition, strength)
    found: Walk = graph.walks[key]
    return found


def _of_ones(adjacency: Any) -> Any:
    from scipy.sparse import csr_matrix

    ones = np.ones(len(adjacency.data))
    return csr_matrix((ones, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def walk_with_chunks(
    graph: Graph,
    *,
    relationships: bool,
    contains: Contains,
    contains_weight: float = 1.0,
    cliques: tuple[str, ...] = (),
) -> Walk:
    """The walk over nodes and then chunks; made once for a graph and these settings.

    A node is joined to every chunk that it is in, by an edge of weight `contains_weight` (`one`),
    or of that divided by the number of nodes in the chunk (`share`). Nodes are joined by the pairs
    of the graph, synonymy edges included, unless `relationships` is false. The walk does not pass
    through nodes of the types `cliques`: any two of their neighbours are joined instead, by an
    edge that weighs how many such nodes they share.
    Source: HippoRAG 2 (Gutierrez et al. 2025), section 3.2, passage nodes and contains edges;
    LinearRAG (Zhuang et al. 2025), entities and passages alone; released code of PropRAG
    (dd90210), the entities of a fact as a clique.
    """
    key = ("chunks", relationships, contains, contains_weight, cliques)
    if key not in graph.walks:
        among, inside = graph.adjacency, graph.node_chunk
        if (typed := nodes_of(graph, cliques)) is not None:
            among, inside = _in_cliques(among, inside, typed)
        if not relationships:
            among = _none(*among.shape)
        graph.walks[key] = _joined(among, inside, contains, contains_weight)
    found: Walk = graph.walks[key]
    return found


def walk_among(walk: Walk, rows: IntArray) -> Walk:
    """The walk over some rows of a walk alone, each given once, by the edges between them."""
    from scipy.sparse import diags

    weights = walk.transition[rows][:, rows] @ diags(walk.strength[rows])
    strength = np.asarray(weights.sum(axis=0), np.float64).ravel()
    transition = (weights @ diags(_inverse(strength))).tocsr()
    transition.sort_indices()
    return Walk(transition, strength)


def _in_cliques(among: Any, inside: Any, typed: BoolArray) -> tuple[Any, Any]:
    from scipy.sparse import diags

    others = diags((~typed).astype(np.float64))
    named = among[np.flatnonzero(typed)].astype(bool).astype(np.float64) @ others
    shared = named.T @ named
    among = others @ among @ others + shared - diags(shared.diagonal())
    inside = others @ inside
    for matrix in (among, inside):
        matrix.eliminate_zeros()
    return among, inside


def _joined(among: Any, inside: Any, contains: Contains, contains_weight: float) -> Walk:
    from scipy.sparse import bmat, diags

    held = inside.astype(np.float64) * contains_weight
    if contains == "share":
        held = held @ diags(_inverse(np.asarray(inside.sum(axis=0)).ravel()))
    n_chunks = inside.shape[1]
    joined = bmat([[among, held], [held.T, _none(n_chunks, n_chunks)]], format="csr")
    strength = np.asarray(joined.sum(axis=1), np.float64).ravel()
    transition = (joined @ diags(_inverse(strength))).tocsr()
    transition.sort_indices()
    return Walk(transition, strength)


def _none(n_rows: int, n_columns: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((n_rows, n_columns))


def _inverse(sums: Any) -> Any:
    values = np.asarray(sums, np.float64)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


show_briefly(Walk)
