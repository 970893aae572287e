"""The retrieval operators, one module for each family; importing this package registers them."""

from operators import chunk, community, mean_search, node, relationship, reranking, subgraph

__all__ = ["chunk", "community", "mean_search", "node", "relationship", "reranking", "subgraph"]
