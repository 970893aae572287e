"""Plug-in packages: imported, so that they register what they hold, and looked into for configs."""

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
"""The plug-in packages that are part of the project; those of the user come after them."""
BUILDERS = tuple(f"graphrag_bench.{name}" for name in ("graphs", "indices", "artifacts", "world"))
ENTRY_POINTS = "graphrag_bench.plugins"
"""The group of entry points by which an installed package is a plug-in of every run."""


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in builders and operators, then the packages of the user.

    A name is that of a package or, with a leading `./`, `../`, `/` or `~`, its path. Raises
    UserError for a missing package, and, with file and line, for one that cannot be imported.
    """
    for name in (*BUILDERS, *BUILT_IN):
        import_below(name)
    add_folders(config_folders(names))
    for name in map(_on_path, [*installed(), *names]):
        _attempt(name, partial(import_module, name))


def config_folders(names: Sequence[str]) -> list[Path]:
    """Return the `configs` folders of plug-in packages, which are not loaded.

    Those of the entry points come first.
    """
    names, here = [*installed(), *names], str(Path.cwd())
    if names and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    folders = []
    for name in map(_on_path, names):
        spec = _attempt(name, partial(find_spec, name))  # imports the packages above it
        if spec is None:
            raise UserError(f"plugins: there is no package '{name}', installed or in {here}.")
        folders += [Path(path, "configs") for path in spec.submodule_search_locations or ()]
    return folders


@cache
def installed() -> list[str]:
    """Return the packages that entry points name, sorted."""
    return sorted({point.module for point in entry_points(group=ENTRY_POINTS)})


def _on_path(name: str) -> str:
    """Return the name of a package; the folder that a path names it in is put on the import path.

    Raises UserError where nothing is there, or Python has another of that name.
    """
    if not name.startswith(("./", "../", "/", "~")):
        return name
    path = Path(name).expanduser().resolve()
    if not path.exists():
        raise UserError(f"plugins: there is no package at {path}.")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = find_spec(path.stem)
    found = [*(spec.submodule_search_locations or [spec.origin or ""])] if spec else []
    if str(path) not in found:
        raise UserError(f"plugins: '{path.stem}' is {', '.join(found)} to Python, not {path}.")
    return path.stem


def _attempt(name: str, work: Callable[[], T]) -> T | None:
    result = result_or_error(work)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, ModuleNotFoundError) and name.startswith(result.name or "?"):
        return None
    text = "".join(traceback.format_exception(result, limit=-1)).rstrip()
    raise UserError(f"plugins: '{name}' cannot be imported.\n{text}")
