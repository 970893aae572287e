"""Members of zip and tar archives, extracted under names of ours.

Pooch unpacks too, but under the names that the archive claims.
"""

from __future__ import annotations

import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from graphrag_bench.errors import UserError

_FAULTS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError,
    RuntimeError,  # of a zip archive that needs a password, or an unknown compression
)  # fmt: skip


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> list[str]:
    """The names of the files that were taken out of an archive into a folder, by pattern.

    `members` maps patterns of member names to the names that the files get, "" to the last part of
    the member's own. Only regular files are written, and only into the folder itself, whatever path
    a member claims. Raises UserError for a pattern that no member has, for two members that would
    get one name, and for an archive that is damaged or needs a password.
    """
    try:
        with _opened(archive) as held:
            wanted = _wanted(archive, held, members)
            for member, name in wanted.items():
                _write(held, member, folder / name)
    except _FAULTS as error:
        raise UserError(f"{archive}: the archive cannot be unpacked ({error}).") from None
    return list(wanted.values())


Archive = zipfile.ZipFile | tarfile.TarFile


def _opened(archive: Path) -> Archive:
    if zipfile.is_zipfile(archive):
        return zipfile.ZipFile(archive)
    if tarfile.is_tarfile(archive):
        return tarfile.open(archive)
    raise UserError(f"{archive} is neither a zip nor a tar archive.")


def _names(held: Archive) -> list[str]:
    if isinstance(held, zipfile.ZipFile):
        names = [row.filename for row in held.infolist() if not row.is_dir()]
    else:
        names = [row.name for row in held.getmembers() if row.isfile()]
    return [name for name in names if not PurePosixPath(name).name.startswith("._")]


def _wanted(archive: Path, held: Archive, members: Mapping[str, str]) -> dict[str, str]:
    names = _names(held)
    wanted: dict[str, str] = {}
    for pattern, given in members.items():
        found = sorted(name for name in names if fnmatchcase(name, pattern))
        if not found:
            raise UserError(
                f"{archive} has no member '{pattern}'. It holds: {', '.join(names[:8]) or 'none'}."
            )
        wanted |= {name: given or PurePosixPath(name.replace("\\", "/")).name for name in found}
    for name in wanted.values():
        if list(wanted.values()).count(name) > 1 or name in ("", ".", ".."):
            raise UserError(f"{archive}: two members would become '{name}', or it is not a name.")
    return wanted


def _write(held: Archive, member: str, target: Path) -> None:
    made = target.with_name(f"{target.name}.part")
    with _reading(held, member) as source, made.open("wb") as out:
        shutil.copyfileobj(source, out)
    os.replace(made, target)


def _reading(held: Archive, member: str) -> IO[bytes]:
    if isinstance(held, zipfile.ZipFile):
        return held.open(member)
    source = held.extractfile(member)
    assert source is not None  # regular files only
    return source
