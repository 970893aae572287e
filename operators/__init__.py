"""The retrieval operators, one module for each family; importing this package registers them."""

from operators import chunk, community, node, relationship, reranking, subgraph

__all__ = ["chunk", "community", "node", "relationship", "reranking", "subgraph"]
