"""Plug-in packages: imported, so that they register what they hold, and looked into for configs."""

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from graphrag_bench.config.sources import search_in
from graphrag_bench.contract import builders, operators
from graphrag_bench.errors import UserError, caught
from graphrag_bench.registry import import_modules

T = TypeVar("T")
BUILT_IN = ("operators", "methods")
"""The plug-in packages that are part of the project; those of the user come after them."""


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in builders and operators, then the packages of the user.

    The working directory is on the import path for them. Raises UserError for a package that is
    not there or that cannot be imported, with the file and line of its error.
    """
    with operators.open(), builders.open():
        for folder in ("graphs", "indices", "artifacts"):  # where builders register themselves
            import_modules(f"graphrag_bench.{folder}", Path(__file__).parents[1] / folder)
        for name in BUILT_IN:
            import_module(name)
        for name in names:
            search_in(config_folders([name]))
            _attempt(name, partial(import_module, name))


def config_folders(names: Sequence[str]) -> list[Path]:
    """Return the `configs` folders of plug-in packages, which are not loaded."""
    here = str(Path.cwd())
    if names and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    folders = []
    for name in names:
        spec = _attempt(name, partial(find_spec, name))  # imports the packages above it
        if spec is None:
            raise UserError(f"plugins: there is no package '{name}', installed or in {here}.")
        folders += [Path(path, "configs") for path in spec.submodule_search_locations or ()]
    return folders


def _attempt(name: str, work: Callable[[], T]) -> T | None:
    result = caught(work)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, ModuleNotFoundError) and name.startswith(result.name or "?"):
        return None
    text = "".join(traceback.format_exception(result, limit=-1)).rstrip()
    raise UserError(f"plugins: '{name}' cannot be imported.\n{text}")
