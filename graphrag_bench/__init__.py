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
_MODULES = {
    "algorithms.graph": ("Graph",),
    "contract": ("artifact", "operator"),
    "data.chunks": ("ChunkTable",),
    "errors": ("UserError",),
    "values": ("Chunk", "Node", "Question", "Ranked", "Relationship"),
}
"""The modules that define names of this package. All other names are defined in `api`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "api")
    return getattr(import_module(f"graphrag_bench.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
