"""Graph-based RAG as pipelines of operators.

    import graphrag_bench as gb
    gb.method("hipporag", damping=0.3).run("sample", limit=20).show()

`docs/architecture.md` shows the tree and the layers.
"""

from typing import TYPE_CHECKING, Any

from graphrag_bench.version import __version__ as __version__

if TYPE_CHECKING:
    from graphrag_bench.api import EditablePipeline, Run, dataset, dataset_of, method, stored_runs
    from graphrag_bench.errors import UserError

__all__ = ["EditablePipeline", "Run", "UserError", "dataset", "dataset_of", "method", "stored_runs"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from graphrag_bench import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
