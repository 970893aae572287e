"""Parity: our methods and the released engines on one frozen graph with the same replies."""
