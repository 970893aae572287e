"""Import plug-in packages (operators and builders), and find their `configs` folders."""

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
ENTRY_POINTS = "graphrag_bench.plugins"
"""Group of entry points. An installed package with such an entry point is a plug-in of all runs."""
_BUILT_IN = (
    "graphrag_bench.graphs", "graphrag_bench.indices", "graphrag_bench.artifacts",
    "graphrag_bench.world", "operators", "methods",
)  # fmt: skip


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in operators and builders, then plug-in packages, given by name or path."""
    for name in _BUILT_IN:
        import_below(name)
    add_folders(config_folders(names))
    for name in map(_on_path, [*entry_point_packages(), *names]):
        _attempt(name, partial(import_module, name))


def config_folders(names: Sequence[str]) -> list[Path]:
    """Return the `configs` folders of installed plug-ins and of the packages `names`."""
    names, here = [*entry_point_packages(), *names], str(Path.cwd())
    if names and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    folders = []
    for name in map(_on_path, names):
        spec = _attempt(name, partial(find_spec, name))  # imports its parent packages
        if spec is None:
            raise UserError(f"plugins: package '{name}' is not installed and not in {here}.")
        folders += [Path(path, "configs") for path in spec.submodule_search_locations or ()]
    return folders


@cache
def entry_point_packages() -> list[str]:
    """Return the names of the installed plug-in packages, sorted."""
    return sorted({point.module for point in entry_points(group=ENTRY_POINTS)})


def _on_path(name: str) -> str:
    """Return the name of a package. If `name` is a path, add its folder to `sys.path`."""
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
