"""Counts of possible faults of a graph, such as isolated nodes."""

import math
from collections.abc import Mapping

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import IntArray

N_HUBS = 5


def graph_health(graph: Graph) -> Mapping[str, tuple[int, int]]:
    """Count possible faults of a graph. Return a pair (count, total) for each kind of fault.

    The links of a node lead to its neighbours, or to its chunks if the graph has no relationships.
    Facts are all relationships except synonymy edges. The largest part is the largest connected
    component, in which nodes are also connected by shared chunks. The largest hubs are the 1 % of
    the nodes with the most links, or a single node in a small graph.

    >>> graph = Graph.from_arrays([0], [1], [[1, 1], [1, 0], [0, 0]], names=["a", "b", "c"])
    >>> graph_health(graph)["nodes in one chunk"], graph_health(graph)["isolated nodes"]
    ((1, 3), (1, 3))
    """
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import connected_components

    n, n_chunks = graph.n_nodes, graph.n_chunks
    chunks_of = graph.node_chunk.getnnz(axis=1)
    facts = graph.relationship_chunk[~graph.synonym]
    n_links = np.sort(_links(graph))[::-1]
    links = bmat([[graph.adjacency, graph.node_chunk], [graph.node_chunk.T, None]])
    _, part = connected_components(links, directed=False)
    return {
        "isolated nodes": (int(np.sum(n_links == 0)), n),
        "nodes in one chunk": (int(np.sum(chunks_of == 1)), n),
        "nodes in no chunk": (int(np.sum(chunks_of == 0)), n),
        "nodes in the largest part": (int(np.bincount(part[:n], minlength=1).max()), n),
        "links of the largest hubs": (int(n_links[: math.ceil(n / 100)].sum()), int(n_links.sum())),
        "merged names": (len(graph.merges), n + len(graph.merges)),
        "chunks without nodes": (int(np.sum(graph.node_chunk.getnnz(axis=0) == 0)), n_chunks),
        "chunks without facts": (int(np.sum(facts.getnnz(axis=0) == 0)), n_chunks),
    }


def hubs(graph: Graph) -> list[tuple[str, int]]:
    """Return the five nodes with the most links, as pairs (name, number of links).

    Ties are broken by the lower row.
    """
    n_links = _links(graph)
    order = np.argsort(-n_links, kind="stable")[:N_HUBS].tolist()
    return [(graph.names[node], int(n_links[node])) for node in order]


def _links(graph: Graph) -> IntArray:
    return graph.degree if graph.n_relationships else graph.node_chunk.getnnz(axis=1)
