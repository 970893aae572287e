"""Graph-based RAG as a pipeline of operators.

values      what flows: questions, ranked rows, contexts, answers
contract    a signature is a contract; the registries of operators and builders
data        data sets and chunks
graph       columns, views, PageRank
models      language models, embedders, indices
offline     artifacts: planned, built once, stored by key
pipeline    steps over states, combinators, the checker
evaluation  metrics and intervals
runs        folders, records, scoring
report      tables
experiment  settings to runs
cli, api    the command line and Python
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphrag_bench.api import Pipeline, Run, dataset, pipeline, runs

__all__ = ["Pipeline", "Run", "dataset", "pipeline", "runs"]


def __getattr__(name: str) -> Any:
    """The Python interface, imported when first asked for."""
    if name in __all__:
        from graphrag_bench import api

        return getattr(api, name)
    raise AttributeError(f"module 'graphrag_bench' has no attribute '{name}'")
