"""A graph with its chunks as further nodes, joined to what they contain: the walk on both."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from graphrag_bench.graph.graph import Graph

Contains = Literal["one", "share"]


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
