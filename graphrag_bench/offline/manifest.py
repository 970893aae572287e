"""The manifest of an artifact: size and hashes of each of its files, checked before one is read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest

RECIPE, MANIFEST = "recipe.json", "manifest.json"
FORMAT = "graphrag-bench artifact 1"
BLOCK = 1 << 26
"""Bytes of a file under one hash: large files are read by several threads, in blocks."""
Verify = Literal["first", "always", "off"]
_KEY_PARTS = ("builder", "code", "settings", "inputs")
_States = tuple[tuple[str, int, int, int], ...]


class Damaged(UserError):
    """An artifact was changed after it was written; the message names it and the file."""

    def __init__(self, folder: Path, what: str) -> None:
        super().__init__(
            f"The artifact {folder} is damaged ({what}); remove that folder to build it again."
        )
        self.folder, self.what = folder, what


@dataclass(frozen=True)
class Mark:
    """What a file was when it was written: its bytes, and the sha256 of each block of them."""

    n_bytes: int
    sha256: tuple[str, ...]


def is_stored(folder: Path) -> bool:
    """Whether a folder is an artifact, whole or damaged: one half of the pair is enough."""
    return (folder / RECIPE).is_file() or (folder / MANIFEST).is_file()


def seal(folder: Path) -> None:
    """Write the manifest of a folder that holds all files of an artifact, recipe included."""
    names = [name for name in _names(folder) if name != MANIFEST]
    marks = {name: _mark(folder / name) for name in names}
    files = {name: {"bytes": m.n_bytes, "sha256": list(m.sha256)} for name, m in marks.items()}
    text = {"format": FORMAT, "content": content_of(marks), "files": files}
    new = folder / f".{MANIFEST}.new"
    new.write_text(json.dumps(text, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    new.replace(folder / MANIFEST)


def content_of(marks: Mapping[str, Mark]) -> str:
    """The digest of names and hashes of all files: equal for equal artifacts alone, 12 digits."""
    return digest([[name, mark.n_bytes, *mark.sha256] for name, mark in sorted(marks.items())])


def read_manifest(folder: Path) -> dict[str, Mark]:
    """The marks of all files by name; raises Damaged, UserError for an artifact without any."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise UserError(
            f"The artifact {folder} has no {MANIFEST}: it was made by an earlier version, or is "
            "damaged. `graphrag-bench artifacts verify --seal` checks its columns and writes one; "
            "or remove that folder to build it again."
        )
    try:
        held = json.loads(_text(path))
        marks = {
            str(name): Mark(int(row["bytes"]), tuple(map(str, row["sha256"])))
            for name, row in held["files"].items()
        }
        whole = held["format"] == FORMAT and held["content"] == content_of(marks)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(folder, f"{MANIFEST} cannot be read: {error}") from None
    if not whole:
        raise Damaged(folder, f"{MANIFEST} does not fit itself")
    return marks


def verify(folder: Path, how: Verify = "first") -> None:
    """Check every file of an artifact against its manifest, and its key against its recipe.

    `first` checks once in a process, and again when size, time or place of a file has changed;
    `always` at every call; `off` looks at nothing. Raises Damaged, or UserError where there is no
    manifest.
    """
    if how == "off":
        return
    check = _verified if how == "first" else _verified.__wrapped__
    check(folder, states(folder))


@lru_cache(maxsize=None)
def _verified(folder: Path, _: _States) -> None:
    """Nothing for a whole artifact; errors are not remembered."""
    marks = read_manifest(folder)
    names = [name for name in _names(folder) if name != MANIFEST]
    if missing := sorted(set(marks) - set(names)):
        raise Damaged(folder, f"{missing[0]} is missing")
    if more := sorted(set(names) - set(marks)):
        raise Damaged(folder, f"{more[0]} was not written with it")
    for name in names:
        check_file(folder, name, marks)
    check_recipe(folder)


def check_file(folder: Path, name: str, marks: Mapping[str, Mark] | None = None) -> Path:
    """The path of one file of an artifact, after checking it; raises Damaged."""
    mark = (read_manifest(folder) if marks is None else marks).get(name)
    if mark is None:
        raise Damaged(folder, f"{name} was not written with it")
    path = folder / name
    try:
        size = path.stat().st_size if path.is_file() else -1
        found = _mark(path) if size == mark.n_bytes else None
    except OSError as error:
        raise Damaged(folder, f"{name} cannot be read: {error}") from None
    if size < 0:
        raise Damaged(folder, f"{name} is missing")
    if found is None:
        raise Damaged(folder, f"{name} has {size:,} bytes, and had {mark.n_bytes:,}")
    if found != mark:
        raise Damaged(folder, f"{name} holds other bytes than were written")
    return path


def check_recipe(folder: Path, name: str | None = None) -> dict[str, Any]:
    """The recipe of an artifact, whose key must be its own and that of its folder, or `name`.

    Raises Damaged.
    """
    recipe = read_recipe(folder)
    try:
        made = digest(*(recipe[part] for part in _KEY_PARTS))
    except (LookupError, TypeError, ValueError) as error:
        raise Damaged(folder, f"{RECIPE} lacks {error}") from None
    if made != (name or folder.name) or recipe.get("key", made) != made:
        raise Damaged(folder, f"{RECIPE} gives another key, {made}")
    return recipe


def read_recipe(folder: Path) -> dict[str, Any]:
    """The recipe as it is, unchecked; raises Damaged when it cannot be read."""
    try:
        recipe = json.loads(_text(folder / RECIPE))
    except (OSError, ValueError, RecursionError) as error:
        raise Damaged(folder, f"{RECIPE} cannot be read: {error}") from None
    if not isinstance(recipe, dict) or not isinstance(recipe.get("builder"), str):
        raise Damaged(folder, f"{RECIPE} is not a recipe")
    return recipe


def _text(path: Path) -> str:
    if not path.is_file():
        raise OSError("it is not a plain file")
    return path.read_text(encoding="utf-8")


def _names(folder: Path) -> list[str]:
    paths = [path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()]
    return sorted(path.as_posix() for path in paths if not path.name.startswith("."))


def states(folder: Path) -> _States:
    """Return name, size, time and place of every file: another tuple when one has changed."""
    found = []
    for name in _names(folder):
        try:
            stat = (folder / name).stat()
        except OSError:
            found.append((name, -1, 0, 0))
        else:
            found.append((name, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return tuple(found)


def _mark(path: Path) -> Mark:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= BLOCK:
            return Mark(size, (hashlib.file_digest(file, "sha256").hexdigest(),))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            starts = range(0, size, BLOCK)
            return Mark(size, tuple(pool.map(lambda at: _block(file.fileno(), at), starts)))


def _block(file: int, start: int) -> str:
    found = hashlib.sha256()
    for at in range(start, start + BLOCK, 1 << 20):
        found.update(os.pread(file, 1 << 20, at))
    return found.hexdigest()
