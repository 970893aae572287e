"""Plug-in packages: imported, so that they register what they hold, and looked into for configs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from graphrag_bench.config.sources import GROUPS, search_in
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
    before = _registered()
    folders = _folders(name)
    _run(name, lambda: import_module(name))
    search_in(config_folders([name]))
    own = [module for _, module in _registered() if _is_of(module, name)]
    configs = [f for folder in folders for g in GROUPS for f in folder.glob(f"configs/{g}/*.yaml")]
    if not (_registered() - before or own or configs):
        raise UserError(_nothing(name, folders))


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
    found = caught(work)
    if not isinstance(found, Exception):
        return found
    if isinstance(found, ModuleNotFoundError) and name.startswith(found.name or "?"):
        raise found
    raise _failed(name, found) from None


def _registered() -> set[tuple[str, str]]:
    found = {(item.name, item.function.__module__) for item in operators.all()}
    return found | {(item.name, item.function.__module__) for item in builders.all()}


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _failed(name: str, error: BaseException) -> UserError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame)]
    lines = [line.rstrip() for line in traceback.format_list(frames)]
    said = traceback.format_exception_only(error)
    text = "\n".join([*lines, *(line.rstrip() for line in said)])
    return UserError(f"plugins: '{name}' cannot be imported.\n{text}")


def _is_theirs(frame: traceback.FrameSummary) -> bool:
    own = Path(__file__).resolve().parents[1]
    path = Path(frame.filename)
    return not (path.is_relative_to(own) or frame.filename.startswith("<frozen importlib"))


def _nothing(name: str, folders: Sequence[Path]) -> str:
    module = sys.modules[name]
    file = getattr(module, "__file__", None) or (folders[0] if folders else name)
    there = sorted(p.name for folder in folders for p in folder.glob("*.py"))
    others = [other for other in there if other != "__init__.py"]
    hint = f" Import there what does: {', '.join(others)}." if others else ""
    return (
        f"plugins: '{name}' registers no operator and no builder and has no configs/ folder "
        f"({file}).{hint}"
    )
