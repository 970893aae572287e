"""Whole methods are tested here: every operator is registered first."""

from graphrag_bench.config.plugins import load_plugins

load_plugins()
