"""The file of a bundle: a zip whose every byte is accounted for.

`bundle.json` has size and sha256 of each member, and the comment at the end of the archive the
sha256 of all bytes before it, so that a change is found wherever it is, and named where it can be.
The same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.runs.checked_json import json_text, read_checked
from graphrag_bench.unpacking import most, too_large

FORMAT = "graphrag-bench bundle 1"
MANIFEST = "bundle.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_COMMENT = re.compile(rb"graphrag-bench bundle 1 sha256:([0-9a-f]{64})")
_BLOCK = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError,
               RuntimeError)  # fmt: skip
"""What reading a member raises that is damaged."""


def write_archive(folder: Path, file: Path, told: Mapping[str, Any]) -> str:
    """Pack the files below a folder, with `told` about them; the sha256 of the archive.

    The archive is put in its place when it is whole.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    files = {
        name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for name, path in names.items()
    }
    manifest = json_text(MANIFEST, {**told, "format": FORMAT, "files": files})
    new = file.with_name(f"{file.name}.part")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            archive.writestr(_entry(MANIFEST), manifest)
            for name, path in names.items():
                with path.open("rb") as given, archive.open(_entry(name), "w") as put:
                    while block := given.read(_BLOCK):
                        put.write(block)
            archive.comment = f"{FORMAT} sha256:{'0' * 64}".encode()
            n_comment = len(archive.comment)
        found = sha256(new, new.stat().st_size - n_comment)
        with new.open("r+b") as packed:
            packed.seek(-64, 2)
            packed.write(found.encode())
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
    return found


def unpacked(file: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What a bundle says of itself, after unpacking it, and what is wrong with it, by file.

    What cannot be unpacked is left out. Raises UserError for a file that is no bundle, or that
    would unpack to more than an honest one.
    """
    if not file.is_file():
        raise UserError(f"There is no bundle at '{file}'.")
    try:
        archive = zipfile.ZipFile(file)
    except _UNREADABLE as error:
        raise UserError(
            f"{file} is no bundle, or its end was changed: it cannot be opened ({error})."
        ) from None
    with archive:
        members = _members(archive, file)
        faults = [fault for name in members if (fault := _extracted(archive, name, folder))]
        comment = archive.comment
    if MANIFEST not in members:
        raise UserError(f"{file} is no bundle: it has no {MANIFEST}.")
    told, more = _told(folder)
    faults += more
    if told:
        faults += list(_differences(told, set(members) - {MANIFEST}, folder))
    return told, faults or _of_the_whole(file, comment)


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry without owner and time, so that equal files give equal archives."""
    made = zipfile.ZipInfo(name, _EPOCH)
    made.compress_type, made.create_system, made.external_attr = (
        zipfile.ZIP_DEFLATED,
        3,
        0o644 << 16,
    )
    return made


def sha256(path: Path, n_bytes: int | None = None) -> str:
    """The sha256 of a file, or of its first bytes."""
    made = hashlib.sha256()
    left = path.stat().st_size if n_bytes is None else n_bytes
    with path.open("rb") as file:
        while left and (block := file.read(min(_BLOCK, left))):
            made.update(block)
            left -= len(block)
    return made.hexdigest()


def _members(archive: zipfile.ZipFile, file: Path) -> list[str]:
    """The names in an archive, which stay below one folder; raises UserError for others."""
    infos = archive.infolist()
    n_packed = file.stat().st_size
    if sum(info.file_size for info in infos) > most(n_packed):
        raise too_large(str(file), n_packed)
    names = [info.filename for info in infos]
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0]:
            raise UserError(f"{file} holds the name {name!r}, which leads out of a folder.")
    if len(set(names)) < len(names):
        raise UserError(f"{file} holds a file twice.")
    return names


def _extracted(archive: zipfile.ZipFile, name: str, folder: Path) -> str:
    """What is wrong with a member that cannot be unpacked; "" for one that is."""
    path = folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        left = archive.getinfo(name).file_size
        with archive.open(name) as given, path.open("wb") as put:
            while block := given.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise ValueError("it is longer than the archive says")
                put.write(block)
    except _UNREADABLE as error:
        path.unlink(missing_ok=True)
        return f"{name}: cannot be unpacked ({error})"
    return ""


def _told(folder: Path) -> tuple[dict[str, Any], list[str]]:
    path = folder / MANIFEST
    if not path.is_file():
        return {}, []
    try:
        held = read_checked(path)
        if not isinstance(held, dict) or held.get("format") != FORMAT:
            raise ValueError("it names another format")
        if not all(isinstance(one, dict) for one in held["files"].values()):
            raise ValueError("it does not name the files")
    except (OSError, ValueError, LookupError, AttributeError, RecursionError) as error:
        return {}, [f"{MANIFEST}: {error}"]
    return held, []


def _differences(told: Mapping[str, Any], members: set[str], folder: Path) -> Iterator[str]:
    """What differs between the files and what `bundle.json` says of them."""
    for name, said in told["files"].items():
        path = folder / name
        if name not in members:
            yield f"{name}: is missing"
        elif path.is_file() and (path.stat().st_size, sha256(path)) != (
            said.get("bytes"),
            said.get("sha256"),
        ):
            yield f"{name}: holds other bytes than were packed"
    for name in sorted(members - set(told["files"])):
        yield f"{name}: was not packed with it"


def _of_the_whole(file: Path, comment: bytes) -> list[str]:
    """What is wrong with an archive whose files are all as they were packed."""
    found = _COMMENT.fullmatch(comment)
    if found is None:
        return [f"{file.name}: its last bytes were changed"]
    if sha256(file, file.stat().st_size - len(comment)) != found[1].decode():
        return [f"{file.name}: bytes between its files were changed"]
    return []


def digest_of(file: Path) -> str:
    """The sha256 that the end of a bundle states."""
    with zipfile.ZipFile(file) as archive:
        found = _COMMENT.fullmatch(archive.comment)
    return found[1].decode() if found else ""


def read_json(path: Path) -> Any:
    """What a JSON file of a bundle holds."""
    return json.loads(path.read_text(encoding="utf-8"))
