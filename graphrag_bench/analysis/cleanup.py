"""What may be removed: run folders one by one, and what no stored run refers to."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.reopen import References, read_references, references_of, reopened
from graphrag_bench.lookup import by_beginning
from graphrag_bench.offline.manifest import RECIPE
from graphrag_bench.offline.store import LEDGER
from graphrag_bench.runs.damage import CONFIG, METRICS, DamagedRun, check_run
from graphrag_bench.runs.folder import Occupied, RunFolder, held_alone
from graphrag_bench.runs.own_questions import all_kept
from graphrag_bench.runs.stored import StoredRun

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
    """The bytes of a file, or of all files in a folder; links are not followed."""
    if path.is_symlink() or path.is_file():
        return path.lstat().st_size
    return sum(inner.lstat().st_size for inner in path.rglob("*") if not inner.is_dir())


def run_folders(home: Path) -> list[Path]:
    """All run folders below a home, unfinished ones too, by data set, method and key.

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
    """The run folder of a path, or of the beginning of a key, finished or not.

    Raises UserError when there is none or more than one, and for what is not below HOME/runs.
    """
    root = (home / "runs").resolve()
    held = run_folders(home)
    given = Path(name)
    if given.is_dir():
        inside = [path for path in held if path.resolve() == given.resolve()]
        if not inside:
            raise UserError(f"'{name}' is not a run folder below {root}; `runs ls` lists them.")
        return inside[0]
    keys = {path.name: path for path in held}
    return by_beginning(name, keys, "run", root, lambda path: path.parent.name)


def remove_run(folder: Path) -> None:
    """Remove a run; raises UserError while a process is running it."""
    aside = folder.with_name(folder.name + REMOVED)
    with RunFolder(folder).alone():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    shutil.rmtree(aside)
    for parent in (folder.parent, folder.parent.parent):
        if not any(parent.iterdir()):
            parent.rmdir()


def garbage(home: Path) -> tuple[list[Garbage], list[str]]:
    """What nothing needs below HOME/artifacts and HOME/runs, and why some of the rest is kept.

    Those are the artifacts that no stored run refers to; folders of builds and imports that were
    broken off, unless a stored run still waits for the build; and files being written that are
    more than an hour old. A run that did not write down its artifacts is asked for its plan, and
    when that is another one by now, all artifacts of its data set are kept.
    """
    used, kept_sets, notes = _used(home)
    artifacts = home / "artifacts"
    found: list[Garbage] = []
    for folder in sorted(artifacts.glob("*/*/*")):
        if folder.is_dir() and not folder.is_symlink() and not _is_kept(folder, kept_sets):
            found += _of_artifacts(folder, used)
    imports, new = artifacts.glob(".import-*"), (home / "runs").glob("*/*/*/*.new")
    removed = sorted((home / "runs").glob(f"*/*/*{REMOVED}"))
    left = [("broken-off import", path) for path in sorted(imports) if _is_old(path)]
    left += [("half-removed run", path) for path in removed]
    left += [("file never finished", path) for path in sorted(new) if _is_old(path)]
    return [*found, *(Garbage(path, kind, size(path)) for kind, path in left)], notes


def collect(home: Path, items: Sequence[Garbage]) -> list[Garbage]:
    """Remove what is still garbage of these, and return it; what is being built stays.

    With the last artifact of a corpus, or of a resource in it, goes its folder.
    """
    still = {item.path for item in garbage(home)[0]}
    gone = []
    for item in items:
        if item.path not in still or not _free(item.path):
            continue
        if item.path.is_dir():
            shutil.rmtree(item.path)
        else:
            item.path.unlink()
        gone.append(item)
    above = {
        item.path.parent for item in gone if item.path.parent.parent.parent.name == "artifacts"
    }
    for folder in (*sorted(above), *sorted({folder.parent for folder in above})):
        if not any(folder.iterdir()):
            folder.rmdir()
    return gone


def _is_kept(folder: Path, kept: frozenset[str]) -> bool:
    corpus = folder.parent.parent.name
    return any(name == corpus or name.startswith(f"{corpus}-") for name in kept)


def _of_artifacts(folder: Path, used: frozenset[str]) -> Iterator[Garbage]:
    if folder.suffix in _UNFINISHED:
        whole = folder.with_suffix("")
        waited_for = _named(whole) in used
        if waited_for and not (whole / RECIPE).is_file():
            return
        if _free(folder):
            yield Garbage(folder, "broken-off build", size(folder), _calls(folder))
    elif _named(folder) not in used and _free(folder):
        kind = "no run refers to it" if (folder / RECIPE).is_file() else "broken-off build"
        yield Garbage(folder, kind, size(folder), _calls(folder))


def _named(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def _calls(folder: Path) -> int:
    path = folder / LEDGER
    return len(path.read_bytes().splitlines()) if path.is_file() else 0


def _is_old(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > _SECONDS_OLD


def _free(path: Path) -> bool:
    lock = path.with_name(f"{path.name.split('.')[0]}.lock")
    if not lock.is_file():
        return True
    try:
        with held_alone(lock, ""):
            return True
    except Occupied:
        return False


def _used(home: Path) -> tuple[frozenset[str], frozenset[str], list[str]]:
    """The artifacts that runs refer to, the data sets of which nothing is removed, and why not.

    An artifact is named `resource/key`, which does not depend on the name of the data set.
    """
    places = {place for asked in all_kept(home) for place in asked.places}
    kept: set[str] = set()
    notes: list[str] = []
    for path in run_folders(home):
        held, why = None, f"the run {path} does not say which ones it used"
        try:
            check_run(path)
            held = _references(path, home)
        except DamagedRun as error:
            why = str(error)
        if held is None:
            kept.add(path.parts[-3])
            notes.append(f"all artifacts of {path.parts[-3]} are kept: {why}")
        else:
            places |= held.places
    return frozenset(place.partition("/")[2] for place in places), frozenset(kept), notes


def _references(path: Path, home: Path) -> References | None:
    run = StoredRun(RunFolder(path))
    if (held := read_references(run.folder)) is not None:
        return held
    try:
        experiment = reopened(run, home)
        same = experiment.key == path.name
        return references_of(experiment, experiment.dataset.questions) if same else None
    except UserError:
        return None
