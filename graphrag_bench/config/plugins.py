"""Plug-in packages: imported, so that they register what they hold, and looked into for configs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
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
_OFFLINE = "graphrag_bench.offline"
"""The package in whose modules the built-in builders register themselves."""


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in builders and operators, then the packages of the user.

    The working directory is on the import path for them. Raises UserError for a package that is
    not there, that cannot be imported, with the file and line of its error, or that registers no
    operator and no builder and has no `configs`.
    """
    with operators.open(), builders.open():
        import_modules(_OFFLINE, Path(__file__).parents[1] / "offline")
        for name in BUILT_IN:
            import_module(name)
        for name in names:
            if name not in BUILT_IN:
                _load(name)


def config_folders(names: Iterable[str]) -> list[Path]:
    """Return the `configs` folders of plug-in packages, which are not loaded."""
    return [folder / "configs" for name in names for folder in _folders(name)]


def _load(name: str) -> None:
    before, is_new = _registered(), name not in sys.modules
    folders = config_folders([name])
    module = _run(name, lambda: import_module(name))
    search_in(folders)
    if is_new and before == _registered() and not any(folder.is_dir() for folder in folders):
        there = sorted(p.name for folder in folders for p in folder.parent.glob("*.py"))
        others = ", ".join(file for file in there if file != "__init__.py")
        hint = f" Import there what does: {others}." if others else ""
        raise UserError(
            f"plugins: '{name}' registers no operator and no builder and has no configs/ folder "
            f"({module.__file__}).{hint}"
        )


def _folders(name: str) -> list[Path]:
    """The folders of a package; none for a module. Raises UserError when there is neither."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"plugins: '{name}' is not a name of a package; write NAME or NAME.PART.")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    try:
        spec = _run(name, lambda: find_spec(name))
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise UserError(
            f"plugins: there is no package '{name}' to import, neither installed nor in {here}."
        )
    return [Path(folder) for folder in spec.submodule_search_locations or ()]


def _run(name: str, work: Callable[[], T]) -> T:
    """What code of the user's returns; its own error is one of theirs, with file and line."""
    result = caught(work)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, ModuleNotFoundError) and name.startswith(result.name or "?"):
        raise result
    ours = (str(Path(__file__).resolve().parents[1]), "<frozen importlib")
    frames = traceback.extract_tb(result.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(ours)]
    lines = [*traceback.format_list(theirs), *traceback.format_exception_only(result)]
    raise UserError(f"plugins: '{name}' cannot be imported.\n{''.join(lines).rstrip()}") from None


def _registered() -> set[str]:
    return {item.name for registry in (operators, builders) for item in registry.all()}
