"""List, export, import and verify stored artifacts, e.g. graphs and indices."""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphrag_bench.artifacts import store
from graphrag_bench.errors import UserError, by_prefix
from graphrag_bench.fingerprint import digest


@dataclass(frozen=True)
class StoredArtifact:
    """Artifact in the folder artifacts/<dataset>/<resource>/<key>/."""

    folder: Path
    recipe: Mapping[str, Any]
    dataset: str
    resource: str
    key: str

    @property
    def files(self) -> list[Path]:
        """The artifact's files, sorted by path."""
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    @property
    def n_bytes(self) -> int:
        """The total size of the artifact's files in bytes."""
        return sum(path.stat().st_size for path in self.files)

    @property
    def path(self) -> str:
        """The artifact's path below the folder `artifacts`, with forward slashes."""
        return f"{self.dataset}/{self.resource}/{self.key}"


def stored_artifacts(artifacts: Path) -> list[StoredArtifact]:
    """Return all artifacts in a folder, sorted. Raises DamagedArtifact for a bad recipe.json."""
    return [
        StoredArtifact(folder, store.read_recipe(folder), *folder.relative_to(artifacts).parts)
        for folder in stored_folders(artifacts)
    ]


def stored_folders(artifacts: Path) -> list[Path]:
    """Return the folders of all stored artifacts, sorted."""
    paths = sorted(artifacts.glob("*/*/*"))
    return [path for path in paths if not path.suffix and store.is_stored(path)]


def find(artifacts: Path, key: str) -> StoredArtifact:
    """Return the only artifact whose key starts with `key`, or raise UserError."""
    by_key = {one.key: one for one in stored_artifacts(artifacts)}
    return by_prefix(key, by_key, "artifact", artifacts, lambda o: f"{o.dataset} {o.resource}")


def with_inputs(artifacts: Path, one: StoredArtifact) -> list[StoredArtifact]:
    """Return an artifact and its direct and indirect stored inputs, in dependency order."""
    every = {item.path: item for item in stored_artifacts(artifacts)}
    ordered: dict[str, StoredArtifact] = {}

    def visit(item: StoredArtifact) -> None:
        for resource, key in sorted(item.recipe["inputs"].items()):
            below = every.get(f"{item.dataset}/{resource}/{key}")
            if below is not None and below.path not in ordered:
                visit(below)
        ordered[item.path] = item

    visit(one)
    return list(ordered.values())


def export_artifacts(items: Sequence[StoredArtifact], file: Path) -> str:
    """Write artifacts to a .tar.gz file with reproducible bytes. Return the content's digest."""
    new = file.with_name(f"{file.name}.part")

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        return info.replace(uid=0, gid=0, mtime=0, uname="", gname="", mode=0o644, deep=False)

    try:
        with (
            new.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for item in items:
                if fault := store.fault_of(item.folder):
                    raise store.DamagedArtifact(item.folder, fault)
                for path in item.files:
                    name = f"{item.path}/{path.relative_to(item.folder).as_posix()}"
                    archive.add(path, name, recursive=False, filter=plain)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
    return digest({item.path: store.sha256(item.folder / store.RECIPE) for item in items})


def import_artifacts(file: Path, artifacts: Path) -> tuple[list[str], list[str], str]:
    """Import the artifacts of an archive after checking all keys and hashes.

    Returns the new folders, the folders that existed before, and the digest of the content, which
    differs from the digest of the export if an artifact was changed together with its hashes.
    """
    artifacts.mkdir(parents=True, exist_ok=True)
    contents: dict[str, str] = {}
    with TemporaryDirectory(prefix=".import-", dir=artifacts) as name:
        try:
            with tarfile.open(file) as archive:
                archive.extractall(name, filter="data")
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise UserError(f"{file} is not an archive of artifacts ({error}).") from None
        for folder in sorted(Path(name).glob("*/*/*")):
            place = folder.relative_to(name).as_posix()
            if fault := store.fault_of(folder):
                raise UserError(f"{file} is damaged: {place}: {fault}.")
            contents[place] = store.sha256(folder / store.RECIPE)
        if not contents:
            raise UserError(f"{file} holds no artifacts.")
        new = [place for place in contents if not store.is_stored(artifacts / place)]
        for place in new:
            target = artifacts / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)  # a folder without a recipe
            Path(name, place).rename(target)
    return new, [place for place in contents if place not in new], digest(contents)
