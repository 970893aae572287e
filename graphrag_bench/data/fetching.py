"""A published data set on disk: downloaded, checked, and extracted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.data.archives import unpack
from graphrag_bench.data.card import UNKNOWN, Card, Download, Source
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.download import Remote, download
from graphrag_bench.data.hub import HUB, Listing, listing
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress

MANIFEST = "fetched.json"
STAGING = ".fetching"
"""Where files are until they are complete; an interrupted download resumes there."""


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
    fault on the way; complete files stay, and the same command resumes.
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
        listed = listing(source, endpoint.rstrip("/")) if source.hub else None
        for wanted, remote, checked in _remotes(source, listed):
            held = [one for one in known if one.url == remote.url and _there(folder, one)]
            if held:
                made.append(held[0])
                continue
            found = download(remote, staging, progress)
            holds = _moved(staging, remote.name, wanted, folder, None if again else known)
            revision = listed.commit if listed else source.revision
            made.append(Fetched(remote.url, revision, found, checked, holds))
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


def _remotes(source: Source, listed: Listing | None) -> Iterator[tuple[Download, Remote, str]]:
    for wanted in source.downloads:
        told = "" if wanted.sha256 == UNKNOWN else wanted.sha256
        if wanted.url:
            name = wanted.to or wanted.url.rpartition("/")[2]
            remote = Remote(wanted.url, name, told, page=source.url)
            yield wanted, remote, "card" if told else ""
            continue
        if listed is None:
            raise UserError(f"The card names '{wanted.path}', and no data set on the hub.")
        for file in listed.matching(wanted.path):
            sha256 = told or file.sha256
            remote = replace(file, name=wanted.to or file.name, sha256=sha256)
            yield wanted, remote, "card" if told else "hub" if sha256 else ""


def _moved(
    staging: Path, name: str, wanted: Download, folder: Path, known: Sequence[Fetched] | None
) -> tuple[str, ...]:
    """The files that a download became in the folder of the set; an archive is not kept.

    Raises UserError, and leaves the file alone, when one is there that is not in `known`;
    with None every file may be replaced.
    """
    names = [name]
    if wanted.members:
        names = unpack(staging / name, wanted.members, staging)
        (staging / name).unlink()
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
