"""A published data set on disk: listed by huggingface_hub, downloaded by pooch, extracted."""

import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from filelock import FileLock

from graphrag_bench.data.dataset import UNKNOWN, Card, Dataset, Source
from graphrag_bench.errors import UserError, caught, did_you_mean
from graphrag_bench.progress import Progress
from graphrag_bench.terminal import refuse_secrets

HUB = "https://huggingface.co"
"""The hub's address; HF_ENDPOINT names a mirror."""
MANIFEST = "fetched.json"
STAGING = ".fetching"
"""Where files are until the set is complete."""
_TRIES, _SECONDS = 3, 30.0


@dataclass(frozen=True)
class Fetched:
    """A file that was downloaded: its address, its sha256 as it came, and who stated it before.

    `checked` is `card`, `hub` or "" where neither has one; `holds` are the files it became.
    """

    url: str
    revision: str
    sha256: str
    checked: str
    holds: tuple[str, ...]


def fetch(
    card: Card,
    folder: Path,
    *,
    endpoint: str = HUB,
    progress: Progress = Progress(),  # noqa: B008 (stateless)
) -> list[Fetched]:
    """Return what was downloaded into a folder, or is there from before.

    `fetched.json` in the folder keeps addresses, revisions and checksums. Raises UserError for a
    set that has no files to download, with what to do where it is fetched by hand, and for every
    fault on the way; complete files stay, and the same command fetches the others.
    """
    source = card.source
    if source is None:
        raise UserError(f"Data set '{card.name}' is not downloaded: there is nothing to fetch.")
    if not source.downloads:
        how = source.by_hand.strip() or f"see {source.url}"
        raise UserError(f"Data set '{card.name}' is fetched by hand:\n{how}")
    refuse_secrets("endpoint", endpoint)
    refuse_secrets("source.url", [one.url for one in source.downloads])
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".fetch.lock"):
        earlier, finished = read_manifest(folder)
        ours = {name for one in earlier for name in one.holds}
        if finished and all((folder / name).is_file() for name in ours):
            return earlier
        staging = folder / STAGING
        fetched = []
        for remote, members in _remotes(source, endpoint.rstrip("/")):
            file, sha256 = _download(remote, staging, source.url, progress)
            names = unpack(file, members, staging) if members else remote.holds
            fetched.append(replace(remote, sha256=sha256, holds=tuple(names)))
        new = [name for one in fetched for name in one.holds]
        for name in new:
            if name not in ours and (folder / name).is_file():
                raise UserError(
                    f"{folder / name} is there and was not fetched; it is not overwritten "
                    "(dataset.root=FOLDER uses what is there)."
                )
        _write_manifest(folder, fetched, finished=False)
        for name in new:
            os.replace(staging / name, folder / name)
        _write_manifest(folder, fetched, finished=True)
        shutil.rmtree(staging, ignore_errors=True)
    return fetched


def _remotes(source: Source, endpoint: str) -> Iterator[tuple[Fetched, Mapping[str, str]]]:
    """Yield each file with the sha256 that is stated, "" for none, and what to take out of it."""
    commit, listed = _listing(source, endpoint) if source.hub else (source.revision, {})
    for wanted in source.downloads:
        stated = "" if wanted.sha256 == UNKNOWN else wanted.sha256
        paths = sorted(path for path in listed if fnmatchcase(path, wanted.path))
        if not paths and not wanted.url:
            hint = did_you_mean(wanted.path, [*listed], [*listed][:8])
            raise UserError(f"{source.hub} has no file '{wanted.path}' at {commit}. {hint}")
        files = [(wanted.url, "")] if wanted.url else [listed[path] for path in paths]
        for url, sha256 in files:
            checked = "card" if stated else "hub" if sha256 else ""
            name = wanted.to or url.rpartition("/")[2]
            yield Fetched(url, commit, stated or sha256, checked, (name,)), wanted.members


def _listing(source: Source, endpoint: str) -> tuple[str, dict[str, tuple[str, str]]]:
    import httpx2
    from huggingface_hub import HfApi, hf_hub_url

    revision = "main" if source.revision == UNKNOWN else source.revision
    try:
        info = HfApi(endpoint, token=False).dataset_info(
            source.hub, revision=revision, files_metadata=True, timeout=_SECONDS
        )
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{source.hub}: {endpoint} does not list it ({str(error)[:300]}). The set may ask for "
            f"a log-in, or have moved: see {source.url}. A mirror is named by the environment "
            "(HF_ENDPOINT=ADDRESS); files that are on disk are used by dataset.root=FOLDER."
        ) from None
    commit = info.sha or revision
    files = {}
    for row in info.siblings or []:
        url = hf_hub_url(
            source.hub, row.rfilename, repo_type="dataset", revision=commit, endpoint=endpoint
        )
        files[row.rfilename] = url, row.lfs.sha256 if row.lfs else ""
    return commit, files


def _download(remote: Fetched, staging: Path, page: str, progress: Progress) -> tuple[Path, str]:
    import pooch

    (name,) = remote.holds

    pooch.get_logger().setLevel("ERROR")
    server = pooch.create(
        staging, base_url="", registry={name: remote.sha256 or None}, urls={name: remote.url},
        retry_if_failed=_TRIES,
    )  # fmt: skip
    try:
        path = server.fetch(name, progressbar=not progress.quiet)
    except OSError as error:
        raise UserError(
            f"{remote.url}: not downloaded ({error}). Run the same command again, see the "
            f"publisher's page ({page}), or download it by hand: dataset.root=FOLDER."
        ) from None
    except ValueError as error:
        raise UserError(
            f"{remote.url}: the checksum is wrong, and the file was not kept.\n  {error}\n"
            "Either the download was damaged (try again), or the published file has changed."
        ) from None
    return Path(path), str(pooch.file_hash(path))


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> list[str]:
    """Take files out of a zip or tar archive into a folder; return their names, by pattern.

    `members` maps patterns of member names to the names that the files get, "" to the last part of
    the member's own (pooch keeps the whole path that the archive claims). Only regular files are
    written, and only into the folder itself. Raises UserError for a pattern that no member has, for
    two members that would get one name, and for an archive that is damaged or needs a password.
    """
    names = caught(lambda: _unpacked(archive, members, folder))
    if isinstance(names, Exception):
        raise UserError(f"{archive}: the archive cannot be unpacked ({names}).")
    return names


def _unpacked(archive: Path, members: Mapping[str, str], folder: Path) -> list[str]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as content:
            zipped = {row.filename: row for row in content.infolist() if not row.is_dir()}
            wanted = _wanted(archive, list(zipped), members)
            for member, name in wanted.items():
                zipped[member].filename = name
                content.extract(zipped[member], folder)
    else:
        with tarfile.open(archive) as tar:
            files = {row.name: row for row in tar.getmembers() if row.isfile()}
            wanted = _wanted(archive, list(files), members)
            for member, name in wanted.items():
                tar.extract(files[member].replace(name=name), folder, filter="data")
    return list(wanted.values())


def _wanted(archive: Path, listed: Sequence[str], members: Mapping[str, str]) -> dict[str, str]:
    own = {name: PurePosixPath(name.replace("\\", "/")).name for name in listed}
    own = {name: last for name, last in own.items() if not last.startswith("._")}
    wanted: dict[str, str] = {}
    for pattern, name in members.items():
        matching = sorted(member for member in own if fnmatchcase(member, pattern))
        if not matching:
            there = ", ".join([*own][:8]) or "none"
            raise UserError(f"{archive} has no member '{pattern}'. It holds: {there}.")
        wanted |= {member: name or own[member] for member in matching}
    for name in wanted.values():
        if list(wanted.values()).count(name) > 1 or name in ("", ".", ".."):
            raise UserError(f"{archive}: two members would become '{name}', or it is not a name.")
    return wanted


def read_manifest(folder: Path) -> tuple[list[Fetched], bool]:
    """Return what an earlier fetch left in a folder, and whether it was finished."""
    file = folder / MANIFEST
    if not file.is_file():
        return [], False
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        files = [Fetched(**{**row, "holds": tuple(row["holds"])}) for row in content["files"]]
        return files, bool(content["finished"])
    except (json.JSONDecodeError, KeyError, TypeError):
        raise UserError(f"{file} cannot be read; delete it and fetch again.") from None


def _write_manifest(folder: Path, fetched: list[Fetched], *, finished: bool) -> None:
    content = {"finished": finished, "files": [asdict(one) for one in fetched]}
    (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def differences(dataset: Dataset) -> list[str]:
    """Return in what a set that was read differs from its card: counts, and pinned rows."""
    ids = {
        "documents": [row.id for row in dataset.documents],
        "questions": [row.id for row in dataset.questions],
    }
    faults = [
        f"{len(ids[kind])} {kind}, and the card says {n}"
        for kind, n in dataset.card.counts.items()
        if len(ids[kind]) != n
    ]
    for kind, pins in dataset.card.pinned.items():
        there = dict(enumerate(ids[kind])) | dict(enumerate(ids[kind], -len(ids[kind])))
        faults += [
            f"row {row} of the {kind} is {there.get(row, 'nothing')}, and the card says {name}"
            for row, name in pins.items()
            if there.get(row) != name
        ]
    return faults
