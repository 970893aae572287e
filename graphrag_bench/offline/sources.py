"""Which chunks and documents nodes, relationships, attributes and reports come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrag_bench.columns import row_ids
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph

_MOST_LAYERS = 64
"""More than any tree has: each layer has at most half as many nodes as the one below."""


def node_sources(graph: Graph) -> Any:
    """Bool CSR (n_nodes, n_chunks): the chunks that a node and its description are from.

    They are those that name it. A node without any, the summary of a tree, is from the chunks of
    the nodes that it points at, and so on down to the leaves.
    """
    found = graph.node_chunk.astype(bool).tocsr()
    for _ in range(_MOST_LAYERS):
        empty = np.diff(found.indptr) == 0
        rows = np.flatnonzero(empty[graph.source] & ~empty[graph.target])
        if not len(rows):
            break
        found = (found + _joining(graph, rows) @ found).tocsr()
    found.sort_indices()
    return found


def relationship_sources(graph: Graph) -> Any:
    """Bool CSR (n_relationships, n_chunks): the chunks that a relationship is from.

    They are those that state it. One that no text states, a synonymy edge, an edge of passages or
    of a tree, is from the chunks of both its ends.
    """
    from scipy.sparse import csr_matrix, diags

    own = graph.relationship_chunk.astype(bool).tocsr()
    silent = np.diff(own.indptr) == 0
    rows, n = np.arange(graph.n_relationships), graph.n_relationships
    ends = csr_matrix(
        (np.ones(2 * n, bool), (np.tile(rows, 2), np.concatenate([graph.source, graph.target]))),
        shape=(n, graph.n_nodes),
    )
    found = (
        own + (diags(silent.astype(np.float64)) @ ends @ node_sources(graph)).astype(bool)
    ).tocsr()
    found.sort_indices()
    return found


def attribute_sources(graph: Graph) -> Any:
    """Bool CSR (n_attributes, n_chunks): the chunks that state each attribute of a node.

    It has no row where the graph has no attributes.
    """
    from scipy.sparse import csr_matrix

    if graph.node_attributes is None:
        return csr_matrix((0, graph.n_chunks), dtype=bool)
    return graph.node_attributes.chunk


def documents(sources: Any, row: int, chunk_table: ChunkTable) -> list[str]:
    """The documents that a row of `sources` is from, in the order of the corpus, each once."""
    chunks = row_ids(sources, row)
    return list(
        dict.fromkeys(name for chunk in chunks for name in chunk_table.documents_of(int(chunk)))
    )


def _joining(graph: Graph, rows: Any) -> Any:
    from scipy.sparse import csr_matrix

    ends = graph.source[rows], graph.target[rows]
    shape = graph.n_nodes, graph.n_nodes
    return csr_matrix((np.ones(len(rows), bool), ends), shape=shape)
