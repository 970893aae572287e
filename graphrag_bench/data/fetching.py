"""A published data set on disk: listed by huggingface_hub, downloaded by pooch, extracted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from filelock import FileLock

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.data.archives import unpack
from graphrag_bench.data.card import UNKNOWN, Card, Source
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.progress import Progress

HUB = "https://huggingface.co"
"""The hub's address; HF_ENDPOINT names a mirror."""
MANIFEST = "fetched.json"
STAGING = ".fetching"
"""Where files are until the set is complete."""
_TRIES, _SECONDS = 3, 30.0


@dataclass(frozen=True)
class Fetched:
    """A file that was downloaded: its address, its sha256 as it came, and who had told it before.

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
    again: bool = False,
    progress: Progress = Progress(),  # noqa: B008 (stateless)
) -> list[Fetched]:
    """What was downloaded into a folder, or is there from an earlier time (unless `again`).

    `fetched.json` in the folder keeps addresses, revisions and checksums. Raises UserError for a
    set that has no files to download, with what to do where it is fetched by hand, and for every
    fault on the way; complete files stay, and the same command fetches the others.
    """
    source = _source(card)
    refuse_secrets("endpoint", endpoint)
    refuse_secrets("source.url", [one.url for one in source.downloads])
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".fetch.lock"):
        known, finished = ([], False) if again else read_manifest(folder)
        if finished and all(_there(folder, one) for one in known):
            return known
        made: list[Fetched] = []
        staging = folder / STAGING
        if again:
            shutil.rmtree(staging, ignore_errors=True)
        for remote in _remotes(source, endpoint.rstrip("/")):
            held = [one for one in known if one.url == remote.url and _there(folder, one)]
            if held:
                made.append(held[0])
                continue
            sha256 = _download(remote, staging, source.url, progress)
            holds = _moved(staging, remote, folder, None if again else known)
            made.append(Fetched(remote.url, remote.revision, sha256, remote.checked, holds))
            _write_manifest(folder, made, finished=False)
        _write_manifest(folder, made, finished=True)
        shutil.rmtree(staging, ignore_errors=True)
    return made


def _source(card: Card) -> Source:
    if card.source is None:
        raise UserError(f"Data set '{card.name}' is not downloaded: there is nothing to fetch.")
    if not card.source.downloads:
        how = card.source.by_hand.strip() or f"see {card.source.url}"
        raise UserError(f"Data set '{card.name}' is fetched by hand:\n{how}")
    return card.source


@dataclass(frozen=True)
class _Remote:
    """A file at an address, the name it gets here, and what is known of it; "" for no checksum."""

    url: str
    name: str
    revision: str
    sha256: str
    checked: str
    members: Mapping[str, str]


def _remotes(source: Source, endpoint: str) -> Iterator[_Remote]:
    commit, listed = _listing(source, endpoint) if source.hub else (source.revision, {})
    for wanted in source.downloads:
        known = "" if wanted.sha256 == UNKNOWN else wanted.sha256
        checked = "card" if known else ""
        if wanted.url:
            name = wanted.to or wanted.url.rpartition("/")[2]
            yield _Remote(wanted.url, name, commit, known, checked, wanted.members)
            continue
        paths = sorted(path for path in listed if fnmatchcase(path, wanted.path))
        if not paths:
            hint = did_you_mean(wanted.path, [*listed], [*listed][:8])
            raise UserError(f"{source.hub} has no file '{wanted.path}' at {commit}. {hint}")
        for path in paths:
            url, sha256 = listed[path]
            name = wanted.to or path.rpartition("/")[2]
            told = checked or ("hub" if sha256 else "")
            yield _Remote(url, name, commit, known or sha256, told, wanted.members)


def _listing(source: Source, endpoint: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """The commit of a data set on the hub, and the address and sha256 of each of its files."""
    import httpx2
    from huggingface_hub import HfApi, hf_hub_url

    revision = "main" if source.revision == UNKNOWN else source.revision
    try:
        hub = HfApi(endpoint, token=False)
        info = hub.dataset_info(
            source.hub, revision=revision, files_metadata=True, timeout=_SECONDS
        )
        commit = info.sha or revision
        return commit, {
            row.rfilename: (
                hf_hub_url(
                    source.hub, row.rfilename, repo_type="dataset", revision=commit,
                    endpoint=endpoint,
                ),
                row.lfs.sha256 if row.lfs else "",
            )
            for row in info.siblings or []
        }  # fmt: skip
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{source.hub}: {endpoint} does not list it ({str(error)[:300]}). The set may ask for "
            f"a log-in, or have moved: see {source.url}. A mirror is named by the environment "
            "(HF_ENDPOINT=ADDRESS); files that are on disk are used by dataset.root=FOLDER."
        ) from None


def _download(remote: _Remote, staging: Path, page: str, progress: Progress) -> str:
    """The sha256 of the file, which lies in `staging` under its name when it is whole and right."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    server = pooch.create(
        staging, base_url="", registry={remote.name: remote.sha256 or None},
        urls={remote.name: remote.url}, retry_if_failed=_TRIES,
    )  # fmt: skip
    try:
        path = server.fetch(remote.name, progressbar=not progress.quiet)
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
    return str(pooch.file_hash(path))


def _moved(
    staging: Path, remote: _Remote, folder: Path, known: Sequence[Fetched] | None
) -> tuple[str, ...]:
    """The files that a download became in the folder of the set; an archive is not kept.

    Raises UserError, and leaves the file alone, when one is there that is not in `known`;
    with None every file may be replaced.
    """
    names = [remote.name]
    if remote.members:
        names = unpack(staging / remote.name, remote.members, staging)
        (staging / remote.name).unlink()
    ours = {held for one in known or () for held in one.holds}
    for held in names:
        if known is not None and held not in ours and (folder / held).is_file():
            raise UserError(
                f"{folder / held} is there and was not fetched; it is not overwritten (--again "
                "does, and dataset.root=FOLDER uses what is there)."
            )
        os.replace(staging / held, folder / held)
    return tuple(names)


def read_manifest(folder: Path) -> tuple[list[Fetched], bool]:
    """What an earlier fetch left in a folder, and whether it was finished; nothing without one."""
    file = folder / MANIFEST
    if not file.is_file():
        return [], False
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
        files = [Fetched(**{**row, "holds": tuple(row["holds"])}) for row in held["files"]]
        return files, bool(held["finished"])
    except (json.JSONDecodeError, KeyError, TypeError):
        raise UserError(f"{file} cannot be read; delete it and fetch again.") from None


def _write_manifest(folder: Path, made: list[Fetched], *, finished: bool) -> None:
    content = {"finished": finished, "files": [asdict(one) for one in made]}
    (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _there(folder: Path, one: Fetched) -> bool:
    return all((folder / name).is_file() for name in one.holds)


def differences(dataset: Dataset) -> list[str]:
    """In what a set that was read differs from its card: counts, and pinned rows."""
    ids = {
        "documents": [row.id for row in dataset.documents],
        "questions": [row.id for row in dataset.questions],
    }
    found = [
        f"{len(ids[kind])} {kind}, and the card says {n}"
        for kind, n in dataset.card.counts.items()
        if len(ids[kind]) != n
    ]
    for kind, pins in dataset.card.pinned.items():
        for row, name in pins.items():
            held = ids[kind][row] if -len(ids[kind]) <= row < len(ids[kind]) else "nothing"
            if held != name:
                found.append(f"row {row} of the {kind} is {held}, and the card says {name}")
    return found
