"""Graph-based RAG as a pipeline of operators.

values      what flows: questions, ranked rows, contexts, answers
contract    a signature is a contract
data        data sets and chunks
graph       columns, PageRank
models      LLMs, embedders, indices
offline     artifacts: built once, found by key
pipeline    steps over states
evaluation  metrics
runs        folders, records, scoring
report      tables
experiment  settings to runs
cli, api    the command line and Python
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphrag_bench.version import __version__ as __version__

if TYPE_CHECKING:
    from graphrag_bench.api import Pipeline, Run, UserError, dataset, pipeline, runs

__all__ = ["Pipeline", "Run", "UserError", "dataset", "pipeline", "runs"]


class _Package(ModuleType):
    """This package with its Python interface, which is imported when first asked for.

    The functions `pipeline` and `runs` hold the place against the folders of the same names, which
    the import system would put there.
    """

    def __dir__(self) -> list[str]:
        """The names of the module and of the interface."""
        return sorted({*super().__dir__(), *__all__})


def _from_api(name: str) -> property:
    def held(package: ModuleType) -> Any:
        from graphrag_bench import api

        return getattr(api, name)

    def passed_over(package: ModuleType, folder: ModuleType) -> None:
        """Leave an imported folder to `sys.modules`, where every import finds it."""

    return property(held, passed_over)


for _name in __all__:
    setattr(_Package, _name, _from_api(_name))
sys.modules[__name__].__class__ = _Package
