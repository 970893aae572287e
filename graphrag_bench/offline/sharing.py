"""Artifacts as files that travel: listed, packed with what they are built from, and unpacked."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.offline.store import RECIPE

MANIFEST = "manifest.json"
FORMAT = "graphrag-bench artifacts 1"
_NAME = re.compile(r"[\w][\w.-]*")
_KEY_PARTS = ("builder", "code", "settings", "inputs")


@dataclass(frozen=True)
class Stored:
    """An artifact on disk: its data set's folder name, resource, key, recipe and folder."""

    dataset: str
    resource: str
    key: str
    recipe: Mapping[str, Any]
    folder: Path

    @property
    def n_bytes(self) -> int:
        """The size of its files."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    @property
    def place(self) -> str:
        """Its folder below `artifacts`, with forward slashes."""
        return f"{self.dataset}/{self.resource}/{self.key}"


def stored(artifacts: Path) -> list[Stored]:
    """The whole artifacts below a folder, by data set, resource and key."""
    found = []
    for path in sorted(artifacts.glob(f"*/*/*/{RECIPE}")):
        folder = path.parent
        if not folder.suffix:
            recipe = json.loads(path.read_text(encoding="utf-8"))
            names = folder.relative_to(artifacts).parts
            found.append(Stored(names[0], names[1], names[2], recipe, folder))
    return found


def find(artifacts: Path, key: str) -> Stored:
    """The artifact whose key begins with `key`; raises UserError unless there is exactly one."""
    held = stored(artifacts)
    found = [one for one in held if key and one.key.startswith(key)]
    if not found:
        some = ", ".join(f"{one.key} ({one.dataset} {one.resource})" for one in held[:3]) or "none"
        raise UserError(f"No artifact '{key}' in {artifacts}. There are: {some}.")
    if len(found) > 1:
        which = ", ".join(f"{one.key} ({one.dataset} {one.resource})" for one in found)
        raise UserError(f"'{key}' is the beginning of several artifacts: {which}.")
    return found[0]


def with_inputs(artifacts: Path, one: Stored) -> list[Stored]:
    """The artifact after everything it is built from, as far as it is there."""
    held = {(item.dataset, item.resource, item.key): item for item in stored(artifacts)}
    found: dict[str, Stored] = {}

    def visit(item: Stored) -> None:
        for resource, key in sorted(item.recipe["inputs"].items()):
            below = held.get((item.dataset, resource, key))
            if below is not None and below.place not in found:
                visit(below)
        found[item.place] = item

    visit(one)
    return list(found.values())


def export_artifacts(items: Sequence[Stored], file: Path) -> None:
    """Write artifacts as one .tar.gz with the checksums of all their files.

    The archive is put in its place when it is whole.
    """
    new = file.with_name(f"{file.name}.part")
    sums: dict[str, str] = {}
    with (
        new.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for item in items:
            for path in sorted(item.folder.iterdir()):
                name = f"{item.place}/{path.name}"
                with path.open("rb") as content:
                    sums[name] = hashlib.file_digest(content, "sha256").hexdigest()
                archive.add(path, name, recursive=False, filter=_plain)
        manifest = json.dumps({"format": FORMAT, "files": sums}, indent=1, sort_keys=True)
        held = tarfile.TarInfo(MANIFEST)
        held.size = len(manifest.encode())
        archive.addfile(held, BytesIO(manifest.encode()))
    new.replace(file)


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without owner and time, so that equal artifacts give equal archives."""
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o644
    return info


def import_artifacts(file: Path, artifacts: Path) -> tuple[list[str], list[str]]:
    """The places of the artifacts that were new, and of those that were there already.

    Nothing is put in place before the whole archive was checked: names, checksums, and that each
    key is the one its recipe gives. Raises UserError for anything else.
    """
    artifacts.mkdir(parents=True, exist_ok=True)
    scratch = Path(mkdtemp(prefix=".import-", dir=artifacts))
    try:
        places = _unpacked(file, scratch)
        new = [place for place in places if not (artifacts / place / RECIPE).is_file()]
        for place in new:
            target = artifacts / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)
            (scratch / place).rename(target)
        return new, [place for place in places if place not in new]
    finally:
        shutil.rmtree(scratch)


def _unpacked(file: Path, scratch: Path) -> list[str]:
    """The places of the artifacts of a checked archive, unpacked into a folder."""
    sums: dict[str, str] = {}
    try:
        with tarfile.open(file, "r:*") as archive:
            for name, content in _files(archive, file):
                path = scratch / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w+b") as copy:
                    shutil.copyfileobj(content, copy)
                    copy.seek(0)
                    sums[name] = hashlib.file_digest(copy, "sha256").hexdigest()
        manifest = json.loads((scratch / MANIFEST).read_bytes())
        del sums[MANIFEST]
    except (tarfile.TarError, EOFError, ValueError, OSError) as error:
        raise UserError(f"{file} is no archive of artifacts ({error}).") from None
    if manifest != {"format": FORMAT, "files": sums}:
        raise UserError(f"{file} is damaged: its checksums do not fit.")
    places = sorted({name.rpartition("/")[0] for name in sums})
    for place in places:
        _check_recipe(file, scratch / place)
    return places


def _files(archive: tarfile.TarFile, file: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for info in archive:
        parts = info.name.split("/")
        fits = info.name == MANIFEST or (len(parts) == 4 and all(map(_NAME.fullmatch, parts)))
        content = archive.extractfile(info) if info.isfile() and fits else None
        if content is None:
            raise UserError(f"{file} holds '{info.name}', which is no file of an artifact.")
        yield info.name, content


def _check_recipe(file: Path, folder: Path) -> None:
    try:
        recipe = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
        key = digest(*(recipe[part] for part in _KEY_PARTS))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: {folder.name} has no readable recipe ({error}).") from None
    if key != folder.name:
        raise UserError(f"{file}: the recipe of {folder.name} gives another key, {key}.")
