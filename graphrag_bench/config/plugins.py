"""Plug-in packages: imported, so that they register what they hold, and looked into for configs."""

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
_BUILDERS = ("graphs", "indices", "artifacts")
"""The folders of the core in whose modules builders register themselves."""
BUILT_IN = ("operators", "methods")
"""The plug-in packages that are part of the project; those of the user come after them."""


def load_plugins(names: Sequence[str] = ()) -> None:
    """Import the built-in builders and operators, then the packages of the user.

    The working directory is on the import path for them. Raises UserError for a package that is
    not there, that cannot be imported, with the file and line of its error, or that registers no
    operator and no builder and has no `configs`.
    """
    with operators.open(), builders.open():
        for folder in _BUILDERS:
            import_modules(f"graphrag_bench.{folder}", Path(__file__).parents[1] / folder)
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
    module = _attempt(name, lambda: import_module(name))
    search_in(folders)
    if is_new and before == _registered() and not any(folder.is_dir() for folder in folders):
        others = sorted({p.name for f in folders for p in f.parent.glob("*.py")} - {"__init__.py"})
        hint = f" Import there what does: {', '.join(others)}." if others else ""
        raise UserError(
            f"plugins: '{name}' registers no operator and no builder and has no configs/ folder "
            f"({module.__file__}).{hint}"
        )


def _folders(name: str) -> list[Path]:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"plugins: '{name}' is not a name of a package; write NAME or NAME.PART.")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    invalidate_caches()
    spec = _attempt(name, lambda: find_spec(name))  # imports the packages above it
    if spec is None:
        raise _absent(name)
    return [Path(folder) for folder in spec.submodule_search_locations or ()]


def _attempt(name: str, work: Callable[[], T]) -> T:
    result = caught(work)
    if not isinstance(result, Exception):
        return result
    if isinstance(result, ModuleNotFoundError) and name.startswith(result.name or "?"):
        raise _absent(name)
    ours = (str(Path(__file__).resolve().parents[1]), "<frozen importlib")
    frames = traceback.extract_tb(result.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(ours)]
    lines = [*traceback.format_list(theirs), *traceback.format_exception_only(result)]
    raise UserError(f"plugins: '{name}' cannot be imported.\n{''.join(lines).rstrip()}")


def _absent(name: str) -> UserError:
    where = f"neither installed nor in {Path.cwd()}"
    return UserError(f"plugins: there is no package '{name}' to import, {where}.")


def _registered() -> set[str]:
    return {item.name for registry in (operators, builders) for item in registry.all()}
