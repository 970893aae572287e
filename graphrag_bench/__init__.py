"""Graph-based RAG as pipelines of operators.

    import graphrag_bench as gb
    gb.method("hipporag", damping=0.3).run("sample", limit=20).show()

`docs/architecture.md` describes the packages and their layers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphrag_bench.version import __version__ as __version__

if TYPE_CHECKING:
    from graphrag_bench.algorithms.graph import Graph
    from graphrag_bench.api import EditablePipeline, Run, dataset, dataset_of, method, stored_runs
    from graphrag_bench.contract import artifact, operator
    from graphrag_bench.data.chunks import ChunkTable
    from graphrag_bench.errors import UserError
    from graphrag_bench.values import Chunk, Node, Question, Ranked, Relationship

__all__ = [
    "Chunk", "ChunkTable", "EditablePipeline", "Graph", "Node", "Question", "Ranked",
    "Relationship", "Run", "UserError", "artifact", "dataset", "dataset_of", "method", "operator",
    "stored_runs",
]  # fmt: skip
_MODULES = ("errors", "values", "contract", "algorithms.graph", "data.chunks", "api")
"""The modules that define the names of this package. The fastest to import are tried first."""


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        if hasattr(found := import_module(f"graphrag_bench.{module}"), name):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
