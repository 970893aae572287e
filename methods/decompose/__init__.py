"""Question decomposition without a graph."""
