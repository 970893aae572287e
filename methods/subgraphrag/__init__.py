"""SubgraphRAG (Li et al., ICLR 2025), the baseline of path pooling: its context and its answer."""
