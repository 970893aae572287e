"""Register every operator before whole methods are tested."""

from graphrag_bench.config.plugins import load_plugins

load_plugins()
