"""Artifacts as files that travel: listed, packed with what they are built from, and unpacked."""

from __future__ import annotations

import gzip
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

from graphrag_bench.contract import builders
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.lookup import by_beginning
from graphrag_bench.offline.manifest import (
    MANIFEST,
    RECIPE,
    Damaged,
    check_recipe,
    content_of,
    is_stored,
    read_manifest,
    seal,
    verify,
)
from graphrag_bench.offline.store import loaded
from graphrag_bench.unpacking import UNREADABLE, opened_tar

FORMAT = "graphrag-bench artifacts 2"
_NAME = re.compile(r"[\w][\w.-]*")


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
        return sum(path.stat().st_size for path in self.files)

    @property
    def files(self) -> list[Path]:
        """Its files, sorted."""
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    @property
    def place(self) -> str:
        """Its folder below `artifacts`, with forward slashes."""
        return f"{self.dataset}/{self.resource}/{self.key}"


def stored(artifacts: Path) -> list[Stored]:
    """The artifacts below a folder whose recipe can be read, by data set, resource and key."""
    return [one for one in _found(artifacts) if isinstance(one, Stored)]


def unreadable(artifacts: Path) -> list[Damaged]:
    """What is wrong with those that have no readable recipe."""
    return [one for one in _found(artifacts) if isinstance(one, Damaged)]


def _found(artifacts: Path) -> Iterator[Stored | Damaged]:
    for folder in sorted(artifacts.glob("*/*/*")):
        if folder.is_dir() and not folder.suffix and is_stored(folder):
            dataset, resource, key = folder.relative_to(artifacts).parts
            try:
                yield Stored(dataset, resource, key, check_recipe(folder), folder)
            except Damaged as error:
                yield error


def find(artifacts: Path, key: str) -> Stored:
    """The artifact whose key begins with `key`; raises UserError unless there is exactly one."""
    held = {one.key: one for one in stored(artifacts)}
    return by_beginning(key, held, "artifact", artifacts, lambda o: f"{o.dataset} {o.resource}")


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


def one_of(items: Sequence[Stored], resource: str) -> Stored:
    """The artifact of that resource among some; raises UserError where there is none."""
    for item in items:
        if item.resource == resource:
            return item
    what = resource.replace("_", " ")
    raise UserError(f"The {what} is not there; import or build it too.")


def export_artifacts(items: Sequence[Stored], file: Path) -> str:
    """Write artifacts, each after a check of its files, as one .tar.gz; the digest of its content.

    The archive is put in its place when it is whole.
    """
    new = file.with_name(f"{file.name}.part")
    contents = {item.place: _content(item.folder) for item in items}
    try:
        with (
            new.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for item in items:
                for path in item.files:
                    name = f"{item.place}/{path.relative_to(item.folder).as_posix()}"
                    archive.add(path, name, recursive=False, filter=_plain)
            text = json.dumps({"format": FORMAT, "content": contents}, indent=1, sort_keys=True)
            held = tarfile.TarInfo(MANIFEST)
            held.size = len(text.encode())
            archive.addfile(held, BytesIO(text.encode()))
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
    return digest(contents)


def _content(folder: Path) -> str:
    verify(folder, "always")
    return content_of(read_manifest(folder))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without owner and time, so that equal artifacts give equal archives."""
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o644
    return info


def import_artifacts(
    file: Path, artifacts: Path, content: str | None = None
) -> tuple[list[str], list[str], str]:
    """The places of the artifacts that were new, of those that were there, and the content digest.

    Nothing is put in place before the whole archive was checked: names, the hashes of all files,
    that each key is the one its recipe gives, that its columns fit each other, and that the content
    is `content` where that is given. A key tells what an artifact was made of; that nobody has
    changed what is in it and its hashes too, only the digest tells. Raises UserError.
    """
    artifacts.mkdir(parents=True, exist_ok=True)
    scratch = Path(mkdtemp(prefix=".import-", dir=artifacts))
    try:
        contents = _unpacked(file, scratch)
        found = digest(contents)
        if content is not None and content != found:
            raise UserError(f"{file} has the content {found}, and {content} was asked for.")
        new = [place for place in contents if not is_stored(artifacts / place)]
        for place in new:
            target = artifacts / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)
            (scratch / place).rename(target)
        return new, [place for place in contents if place not in new], found
    finally:
        shutil.rmtree(scratch)


def _unpacked(file: Path, scratch: Path) -> dict[str, str]:
    try:
        with opened_tar(file) as archive:
            for name, packed in _files(archive, file):
                path = scratch / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as copy:
                    shutil.copyfileobj(packed, copy)
        told = json.loads((scratch / MANIFEST).read_bytes())
        form = str(told["format"])
        contents = dict(told["content"]) if form == FORMAT else {}
    except (*UNREADABLE, tarfile.TarError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{file} is not an archive of artifacts ({error}).") from None
    if form != FORMAT:
        raise UserError(f"{file} has the format '{form}', not '{FORMAT}'; export it again.")
    places = {path.parent.relative_to(scratch).as_posix() for path in scratch.glob("*/*/*/*")}
    if places != set(contents):
        raise UserError(f"{file} is damaged: it does not hold the artifacts that it names.")
    for place in sorted(contents):
        _check(file, scratch / place, place, contents[place])
    return contents


def _files(archive: tarfile.TarFile, file: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for info in archive:
        parts = info.name.split("/")
        fits = info.name == MANIFEST or (len(parts) >= 4 and all(map(_NAME.fullmatch, parts)))
        plain = info.isreg() and not info.issparse()
        content = archive.extractfile(info) if plain and fits else None
        if content is None:
            raise UserError(f"{file} holds '{info.name}', which is not a file of an artifact.")
        yield info.name, content


def _check(file: Path, folder: Path, place: str, content: str) -> None:
    try:
        found = _content(folder)
        wrong = "its manifest is not the one that the archive names" if found != content else ""
        check_columns(folder)
    except Damaged as error:
        wrong = error.what
    if wrong:
        raise UserError(f"{file} is damaged: {place}: {wrong}. Nothing was taken from it.")


def check_columns(folder: Path) -> bool:
    """Whether the artifact could be loaded to check its columns; raises Damaged.

    One of a builder that is not known here, of a plug-in, is left to its hashes.
    """
    recipe = check_recipe(folder)
    known = {builder.name: builder for builder in builders.all()}
    builder = known.get(recipe["builder"])
    if builder is not None and builder.resource != folder.parent.name:
        raise Damaged(folder, f"{RECIPE} is that of a {builder.resource}")
    if builder is not None and not recipe.get("same_as"):
        loaded(builder.produces, folder)
    return builder is not None


@dataclass(frozen=True)
class Checked:
    """What became of the check of an artifact: "" where it is whole, else what is wrong."""

    place: str
    n_bytes: int
    wrong: str


def check_all(artifacts: Path, dataset: str | None = None, *, sealing: bool) -> Iterator[Checked]:
    """Every artifact below a folder, read whole; `sealing` gives manifests to those without.

    Those are checked by their recipe and columns first: an earlier version kept no manifest.
    """
    for one in _found(artifacts):
        folder = one.folder
        place = folder.relative_to(artifacts).as_posix()
        if dataset not in (None, place.partition("/")[0]):
            continue
        wrong = ""
        try:
            if isinstance(one, Damaged):
                raise one
            if sealing and not (folder / MANIFEST).exists():
                check_columns(folder)
                seal(folder)
            verify(folder, "always")
            check_columns(folder)
        except Damaged as error:
            wrong = error.what
        except UserError:
            wrong = f"no {MANIFEST}: made by an earlier version, or damaged; --seal writes one"
        yield Checked(place, 0 if isinstance(one, Damaged) else one.n_bytes, wrong)
