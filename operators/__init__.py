"""The retrieval operators, one module per family; importing this package registers them."""

from operators import (
    chunk,
    chunk_walk,
    community,
    cross_encoding,
    mean_search,
    node,
    path,
    relationship,
    reranking,
    restart,
    subgraph,
)

__all__ = [
    "chunk",
    "chunk_walk",
    "community",
    "cross_encoding",
    "mean_search",
    "node",
    "path",
    "relationship",
    "reranking",
    "restart",
    "subgraph",
]
