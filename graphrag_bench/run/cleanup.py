"""Find and remove stored runs and unused artifacts."""

import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from graphrag_bench.artifacts.store import RECIPE
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import CONFIG, METRICS, DamagedRun, RunFolder, RunLocked, file_lock
from graphrag_bench.run.results import read_references
from graphrag_bench.run.stored import key_of_run

REMOVED = ".removed"


class Garbage(NamedTuple):
    """A file or folder that can be removed. `kind` is the reason why it can be removed."""

    path: Path
    kind: str


def size(path: Path) -> int:
    """Return the size in bytes of a file or folder, without following links."""
    if path.is_symlink() or path.is_file():
        return path.lstat().st_size
    return sum(inner.lstat().st_size for inner in path.rglob("*") if not inner.is_dir())


def run_folders(home: Path) -> list[Path]:
    """Return the folders of all runs below HOME/runs, sorted. Links to other places are skipped."""
    root = (home / "runs").resolve()
    paths = [path for path in sorted((home / "runs").glob("*/*/*")) if path.suffix != REMOVED]
    paths = [path for path in paths if any((path / name).is_file() for name in (CONFIG, METRICS))]
    return [path for path in paths if path.resolve().parents[2] == root]


def find_folder(name: str, home: Path) -> Path:
    """Return the folder of a run in HOME/runs. `name` is a path, a method or the start of a key."""
    root, folders = (home / "runs").resolve(), run_folders(home)
    if not Path(name).is_dir():
        key = key_of_run(name, {path.name: path.parts[-2:-4:-1] for path in folders}, home)
        return next(path for path in folders if path.name == key)
    for path in folders:
        if path.samefile(name):
            return path
    raise UserError(f"'{name}' is not a run folder below {root}. List them with `runs ls`.")


def remove_run(folder: Path) -> None:
    """Remove the folder of a run. Raises RunLocked if a process is working on the run."""
    aside = folder.with_name(folder.name + REMOVED)
    with RunFolder(folder).exclusive():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    _remove(aside)


def _remove(path: Path) -> None:
    shutil.rmtree(path)
    for folder in (path.parent, path.parent.parent):
        if not any(folder.iterdir()):
            folder.rmdir()


def garbage(home: Path) -> tuple[list[Garbage], list[str]]:
    """Return the unused files below HOME/artifacts and HOME/runs, and notes on kept artifacts.

    Artifacts and unfinished builds are unused if no stored run needs them. Other unfinished files
    must be older than an hour. If a run's artifacts are unknown, its data set's artifacts are kept.
    """
    used: set[tuple[str, str]] = set()
    whole_sets: dict[str, str] = {}
    for path in run_folders(home):
        try:
            if references := read_references(RunFolder(path)):
                used |= {item for of_scope in references.keys.values() for item in of_scope.items()}
            else:
                whole_sets[path.parts[-3]] = f"{path} has no list of its artifacts"
        except DamagedRun as error:
            whole_sets[path.parts[-3]] = str(error)
    artifacts, runs = home / "artifacts", home / "runs"
    items: list[Garbage] = []
    for folder in sorted(artifacts.glob("*/*/*")):
        corpus = folder.parent.parent.name
        in_use = any(f"{name}-".startswith(f"{corpus}-") for name in whole_sets)
        if not folder.is_dir() or folder.is_symlink() or in_use or not _is_free(folder):
            continue
        unfinished = folder.suffix in (".scratch", ".new")
        artifact = folder.with_suffix("") if unfinished else folder
        built = (artifact / RECIPE).is_file()
        if (artifact.parent.name, artifact.name) not in used or (unfinished and built):
            kind = "no run refers to it" if built and not unfinished else "unfinished build"
            items.append(Garbage(folder, kind))
    rests = *artifacts.glob(".import-*"), *runs.glob(f"*/*/*{REMOVED}"), *runs.glob("*/*/*/*.new")
    newest = time.time() - 3600.0
    items += [Garbage(p, "unfinished") for p in sorted(rests) if p.lstat().st_mtime < newest]
    return items, [f"all artifacts of {name} are kept: {why}" for name, why in whole_sets.items()]


def collect(home: Path, items: Sequence[Garbage]) -> list[Garbage]:
    """Remove the items that are still unused, and return them. Builds in progress are kept."""
    current = set(garbage(home)[0])
    removed = [item for item in items if item in current and _is_free(item.path)]
    for path, _ in removed:
        if path.is_file():
            path.unlink()
        elif path.parent == home / "artifacts":
            shutil.rmtree(path)
        else:
            _remove(path)
    return removed


def _is_free(path: Path) -> bool:
    lock = path.with_name(f"{path.name.split('.')[0]}.lock")
    with suppress(RunLocked), file_lock(lock, "") if lock.is_file() else nullcontext():
        return True
    return False
