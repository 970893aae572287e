"""What may be removed: run folders one by one, and what no stored run refers to."""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphrag_bench.artifacts.store import LEDGER, RECIPE
from graphrag_bench.errors import UserError, by_beginning
from graphrag_bench.run.folder import CONFIG, METRICS, DamagedRun, Occupied, RunFolder, locked
from graphrag_bench.run.results import read_references

REMOVED = ".removed"
_SECONDS_OLD = 3600.0
_UNFINISHED = (".scratch", ".new")


@dataclass(frozen=True)
class Garbage:
    """A file or folder that nothing needs: what it is, and the calls that building it took."""

    path: Path
    kind: str
    n_bytes: int
    n_calls: int = 0


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; links are not followed."""
    if path.is_symlink() or path.is_file():
        return path.lstat().st_size
    return sum(inner.lstat().st_size for inner in path.rglob("*") if not inner.is_dir())


def run_folders(home: Path) -> list[Path]:
    """Return all run folders below a home, unfinished ones too, by data set, method and key.

    A link to a folder elsewhere is none.
    """
    root = (home / "runs").resolve()
    return [
        path
        for path in sorted((home / "runs").glob("*/*/*"))
        if ((path / CONFIG).is_file() or (path / METRICS).is_file())
        and not path.name.endswith(REMOVED)
        and path.resolve().parents[2] == root
    ]


def find_folder(name: str, home: Path) -> Path:
    """Return the run folder of a path, or of the beginning of a key, finished or not.

    Raises UserError when there is none or more than one, and for what is not below HOME/runs.
    """
    root = (home / "runs").resolve()
    folders = run_folders(home)
    if not Path(name).is_dir():
        keys = {path.name: path for path in folders}
        return by_beginning(name, keys, "run", root, lambda path: path.parent.name)
    for path in folders:
        if path.resolve() == Path(name).resolve():
            return path
    raise UserError(f"'{name}' is not a run folder below {root}; `runs ls` lists them.")


def remove_run(folder: Path) -> None:
    """Remove a run; raise UserError while a process is running it."""
    aside = folder.with_name(folder.name + REMOVED)
    with RunFolder(folder).alone():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    shutil.rmtree(aside)
    for parent in (folder.parent, folder.parent.parent):
        if not any(parent.iterdir()):
            parent.rmdir()


def garbage(home: Path) -> tuple[list[Garbage], list[str]]:
    """Return what nothing needs below HOME/artifacts and HOME/runs, and notes on what stays.

    Those are the artifacts that no stored run refers to; folders of builds and imports that were
    broken off, unless a stored run still waits for the build; and files being written that are
    more than an hour old. Where a run does not say which artifacts it used, all of its data set
    stay.
    """
    used: set[str] = set()
    whole_sets: set[str] = set()
    notes: list[str] = []
    for path in run_folders(home):
        reason = f"the run {path} does not say which ones it used"
        try:
            references = read_references(RunFolder(path))
        except DamagedRun as error:
            references, reason = None, str(error)
        if references is None:
            whole_sets.add(path.parts[-3])
            notes.append(f"all artifacts of {path.parts[-3]} are kept: {reason}")
        else:
            used |= references.places
    keys = {place.partition("/")[2] for place in used}  # whatever the name of the data set
    artifacts, runs = home / "artifacts", home / "runs"
    items: list[Garbage] = []
    for folder in sorted(artifacts.glob("*/*/*")):
        corpus = folder.parent.parent.name
        in_use = any(name == corpus or name.startswith(f"{corpus}-") for name in whole_sets)
        if folder.is_dir() and not folder.is_symlink() and not in_use:
            items += _of_artifacts(folder, keys)
    for kind, paths in (
        ("broken-off import", filter(_is_old, artifacts.glob(".import-*"))),
        ("half-removed run", runs.glob(f"*/*/*{REMOVED}")),
        ("file never finished", filter(_is_old, runs.glob("*/*/*/*.new"))),
    ):
        items += [Garbage(path, kind, size(path)) for path in sorted(paths)]
    return items, notes


def collect(home: Path, items: Sequence[Garbage]) -> list[Garbage]:
    """Remove what is still garbage of these, and return it; what is being built stays.

    With the last artifact of a corpus, or of a resource in it, goes its folder.
    """
    current = {item.path for item in garbage(home)[0]}
    removed = [item for item in items if item.path in current and _is_free(item.path)]
    for item in removed:
        if item.path.is_dir():
            shutil.rmtree(item.path)
        else:
            item.path.unlink()
    above = {item.path.parent for item in removed if item.path.parents[2].name == "artifacts"}
    for folder in (*sorted(above), *sorted({folder.parent for folder in above})):
        if not any(folder.iterdir()):
            folder.rmdir()
    return removed


def _of_artifacts(folder: Path, used: set[str]) -> Iterator[Garbage]:
    unfinished = folder.suffix in _UNFINISHED
    artifact = folder.with_suffix("") if unfinished else folder
    built = (artifact / RECIPE).is_file()
    needed = f"{artifact.parent.name}/{artifact.name}" in used
    if (needed and not (unfinished and built)) or not _is_free(folder):
        return
    ledger = folder / LEDGER
    n_calls = len(ledger.read_bytes().splitlines()) if ledger.is_file() else 0
    kind = "no run refers to it" if built and not unfinished else "broken-off build"
    yield Garbage(folder, kind, size(folder), n_calls)


def _is_old(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > _SECONDS_OLD


def _is_free(path: Path) -> bool:
    lock = path.with_name(f"{path.name.split('.')[0]}.lock")
    if not lock.is_file():
        return True
    try:
        with locked(lock, ""):
            return True
    except Occupied:
        return False
