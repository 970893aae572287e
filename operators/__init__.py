"""The retrieval operators, one module for each family; importing this package registers them."""

from operators import chunk, community, node, relationship, subgraph

__all__ = ["chunk", "community", "node", "relationship", "subgraph"]
