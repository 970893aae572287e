"""The retrieval operators, one module for each family; importing this package registers them."""

from operators import chunk, node, relationship

__all__ = ["chunk", "node", "relationship"]
