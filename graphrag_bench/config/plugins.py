"""Import the operators and builders of plug-in packages, and find their configs."""

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from graphrag_bench.config.sources import add_folders
from graphrag_bench.errors import UserError, result_or_error
from graphrag_bench.registry import import_below

T = TypeVar("T")
BUILT_IN = ("operators", "methods")
"""Plug-in packages of the project, imported before the plug-in packages of the user."""
BUILDERS = tuple(f"graphrag_bench.{name}" for name in ("graphs", "indices", "artifacts", "world"))
ENTRY_POINTS = "graphrag_bench.plugins"
"""Entry point group: an installed package that declares it is a plug-in of every run."""


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in builders and operators, then the plug-in packages `names`.

    A name with a leading `./`, `../`, `/` or `~` is a path. Raises UserError for a missing package
    and, with file and line, for a failing import.
    """
    for name in (*BUILDERS, *BUILT_IN):
        import_below(name)
    add_folders(config_folders(names))
    for name in map(_on_path, [*entry_point_packages(), *names]):
        _attempt(name, partial(import_module, name))


def config_folders(names: Sequence[str]) -> list[Path]:
    """Return the `configs` folders of plug-in packages without importing the packages.

    Packages of entry points come first.
    """
    names, here = [*entry_point_packages(), *names], str(Path.cwd())
    if names and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    folders = []
    for name in map(_on_path, names):
        spec = _attempt(name, partial(find_spec, name))  # imports its parent packages
        if spec is None:
            raise UserError(f"plugins: no package '{name}' is installed or in {here}.")
        folders += [Path(path, "configs") for path in spec.submodule_search_locations or ()]
    return folders


@cache
def entry_point_packages() -> list[str]:
    """Return the packages of the entry points, sorted."""
    return sorted({point.module for point in entry_points(group=ENTRY_POINTS)})


def _on_path(name: str) -> str:
    """Return the name of a package; the folder of a path is added to the import path.

    Raises UserError for a missing path, and if another package has the name.
    """
    if not name.startswith(("./", "../", "/", "~")):
        return name
    path = Path(name).expanduser().resolve()
    if not path.exists():
        raise UserError(f"plugins: no package at {path}.")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = find_spec(path.stem)
    found = [*(spec.submodule_search_locations or [spec.origin or ""])] if spec else []
    if str(path) not in found:
        raise UserError(
            f"plugins: Python imports '{path.stem}' from {', '.join(found)}, not from {path}."
        )
    return path.stem


def _attempt(name: str, work: Callable[[], T]) -> T | None:
    result = result_or_error(work)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, ModuleNotFoundError) and name.startswith(result.name or "?"):
        return None
    text = "".join(traceback.format_exception(result, limit=-1)).rstrip()
    raise UserError(f"plugins: '{name}' cannot be imported.\n{text}")
