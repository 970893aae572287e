"""The seals of a run folder: the state of its files when the work on them ended.

`files.json` holds size and sha256 of each finished file of rows, with a short hash of each row.
Whoever is about to write a file takes its seal away first, and seals it when the work is done: a
kill at any moment leaves a file without a seal, which is read as it is, and never a healthy one
that looks damaged. A run from before there were seals has none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from graphrag_bench.runs.checked_json import json_text, read_checked

SEALS = "files.json"
_LOCK = "files.lock"
_DIGITS = 8
"""How many digits of the sha256 of a row are kept: enough to tell the rows of one file apart."""


@dataclass(frozen=True)
class Seal:
    """What a file was: its bytes, their sha256, and eight digits for each of its rows."""

    n_bytes: int
    sha256: str
    rows: str = ""


@dataclass
class Seals:
    """The seal of each finished file by name, and what of earlier ones is lost for good."""

    of: dict[str, Seal] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Repaired:
    """A file that was damaged: what was wrong, and how many of its rows are gone of how many."""

    name: str
    what: str
    n_lost: int
    n_rows: int


def read_seals(folder: Path) -> Seals:
    """The seals of a folder, empty where it has none.

    Raises OSError, ValueError or RecursionError where they cannot be read.
    """
    path = folder / SEALS
    if not os.path.lexists(path):
        return Seals()
    held = read_checked(path)
    try:
        if not isinstance(held, dict):
            raise TypeError("no mapping")
        of = {str(name): Seal(**seal) for name, seal in held["files"].items()}
        return Seals(of, list(map(str, held["lost"])))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"it holds no seals: {error}") from None


def faults(folder: Path) -> dict[str, str]:
    """What is wrong with each file that differs from its seal, by name.

    A process that begins to write takes the seal away first; what it writes is not a fault. Raises
    what `read_seals` raises.
    """
    seals = read_seals(folder).of
    found = {n: what for n, seal in seals.items() if (what := _fault(folder / n, seal))}
    if not found:
        return {}
    now = read_seals(folder).of
    return {name: what for name, what in found.items() if now.get(name) == seals[name]}


def take_away(folder: Path, mine: Callable[[str], bool]) -> None:
    """Take the seals of the files away whose names are `mine`, before they are written."""
    with _changed(folder) as seals:
        seals.of = {name: one for name, one in seals.of.items() if not mine(name)}


def seal(folder: Path, names: Iterable[str]) -> None:
    """Seal the files of these names that are there, and take the seals of the others away."""
    with _changed(folder) as seals:
        for name in names:
            seals.of.pop(name, None)
            if (folder / name).is_file():
                seals.of[name] = _seal(folder / name)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Within it a file is written whole; no other process writes a sealed one meanwhile."""
    with _changed(path.parent) as seals:
        if seals.of.pop(path.name, None):
            _write(path.parent, seals)
        yield
        seals.of[path.name] = _seal(path)


def repair(folder: Path, mine: Callable[[str], bool]) -> list[Repaired]:
    """Repair damaged files, those that are `mine`, as far as their rows are there.

    Their seals are taken away. Each row is known by its hash: those that were sealed stay, in
    their order, once; others go. The damaged file is kept under another name. Damaged seals are
    given up, and named.
    """
    try:
        found = faults(folder)
    except (OSError, ValueError, RecursionError) as error:
        with _changed(folder):
            _aside(folder / SEALS)
        return [Repaired(SEALS, f"cannot be read: {error}", 0, 0)]
    known = read_seals(folder).of
    repaired = [_repaired(folder / n, what, known[n]) for n, what in found.items() if mine(n)]
    names = {one.name for one in repaired}
    if names:
        take_away(folder, names.__contains__)
    return repaired


def note_lost(folder: Path, lost: Iterable[str]) -> None:
    """Keep what is gone for good, each once: tables tell it from now on."""
    with _changed(folder) as seals:
        seals.lost = list(dict.fromkeys([*seals.lost, *lost]))


def _repaired(path: Path, what: str, seal: Seal) -> Repaired:
    digits = [seal.rows[at : at + _DIGITS] for at in range(0, len(seal.rows), _DIGITS)]
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    kept = _each_once(digits, lines)
    if os.path.lexists(path):
        _aside(path)
    if digits:
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_bytes(b"".join(line + b"\n" for line in kept))
        new.replace(path)
    return Repaired(path.name, what, len(digits) - len(kept), len(digits))


def _each_once(digits: list[str], lines: list[bytes]) -> list[bytes]:
    held: dict[str, list[bytes]] = {}
    for line in lines:
        held.setdefault(_short(line), []).append(line)
    return [held[one].pop() for one in digits if held.get(one)]


def _aside(path: Path) -> None:
    names = (f"{path.name}.damaged" + (f".{n}" if n > 1 else "") for n in count(1))
    place = next(path.with_name(n) for n in names if not os.path.lexists(path.with_name(n)))
    if path.is_file():
        shutil.copyfile(path, place)  # the file itself is replaced whole
    else:
        path.rename(place)


def _fault(path: Path, seal: Seal) -> str:
    try:
        if not path.is_file():
            return "is not a plain file" if os.path.lexists(path) else "is missing"
        if (size := path.stat().st_size) != seal.n_bytes:
            return f"has {size:,} bytes, and had {seal.n_bytes:,}"
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error}"
    return "" if found == seal.sha256 else "holds other bytes than were written"


def _seal(path: Path) -> Seal:
    held = path.read_bytes()
    lines = held.split(b"\n")[:-1] if path.suffix == ".jsonl" else []
    return Seal(len(held), hashlib.sha256(held).hexdigest(), "".join(map(_short, lines)))


def _short(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:_DIGITS]


@contextmanager
def _changed(folder: Path) -> Iterator[Seals]:
    from filelock import FileLock

    with FileLock(folder / _LOCK):
        before: Seals | None = None
        with suppress(OSError, ValueError, RecursionError):
            before = read_seals(folder)
        seals = Seals(dict(before.of), list(before.lost)) if before else Seals()
        yield seals
        if seals != before:
            _write(folder, seals)


def _write(folder: Path, seals: Seals) -> None:
    held: Mapping[str, object] = {
        "files": {name: asdict(one) for name, one in seals.of.items()},
        "lost": seals.lost,
    }
    new = folder / f"{SEALS}.{os.getpid()}.new"
    new.write_text(json_text(SEALS, held), encoding="utf-8")
    new.replace(folder / SEALS)
