"""A published set onto the disk: downloaded, checked, and taken out of its archives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from graphrag_bench.data.archives import unpack
from graphrag_bench.data.card import UNKNOWN, Card, Download, Source
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.download import Patience, Remote, download
from graphrag_bench.data.hub import HUB, Listing, listing
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress

MANIFEST = "fetched.json"
_SECONDS = 30.0


@dataclass(frozen=True)
class Fetched:
    """A file that was downloaded: its address, its sha256 as it came, and who had told it before.

    `checked` is `card`, `hub` or "" where nobody had; `holds` are the files it became.
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
    patience: Patience = Patience(),  # noqa: B008 (frozen)
    progress: Progress = Progress(),  # noqa: B008 (stateless)
) -> list[Fetched]:
    """What was downloaded into a folder, or is there from an earlier time (unless `again`).

    `fetched.json` in the folder keeps addresses, revisions and checksums. Raises UserError for a
    set that has no files to download, with what to do where it is fetched by hand, and for every
    fault on the way; what is whole stays, and the same command goes on from it.
    """
    import httpx

    source = _source(card)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".fetch.lock"):
        known, finished = ([], False) if again else read_manifest(folder)
        if finished and all(_there(folder, one) for one in known):
            return known
        made: list[Fetched] = []
        with httpx.Client(timeout=_SECONDS) as client:
            listed = listing(source, endpoint.rstrip("/"), client) if source.hub else None
            for wanted, remote, checked in _remotes(source, listed):
                held = [one for one in known if one.url == remote.url and _there(folder, one)]
                if held:
                    made.append(held[0])
                    continue
                found = download(remote, folder, client, patience=patience, progress=progress)
                holds = _taken_out(folder / remote.name, wanted, folder)
                revision = listed.commit if listed else source.revision
                made.append(Fetched(remote.url, revision, found, checked, holds))
                _write_manifest(folder, made, finished=False)
        _write_manifest(folder, made, finished=True)
    return made


def _source(card: Card) -> Source:
    if card.source is None:
        raise UserError(f"Data set '{card.name}' is not downloaded: there is nothing to fetch.")
    if not card.source.downloads:
        how = card.source.by_hand.strip() or f"see {card.source.url}"
        raise UserError(f"Data set '{card.name}' is fetched by hand:\n{how}")
    return card.source


def _remotes(source: Source, listed: Listing | None) -> Iterator[tuple[Download, Remote, str]]:
    """Every file to download, with what is known of it and who tells it."""
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
            name = wanted.to or file.path.rpartition("/")[2]
            sha256 = told or file.sha256
            remote = Remote(listed.url(file), name, sha256, file.size, source.url)
            yield wanted, remote, "card" if told else "hub" if sha256 else ""


def _taken_out(file: Path, wanted: Download, folder: Path) -> tuple[str, ...]:
    """The files that a download became; an archive is not kept."""
    if not wanted.members:
        return (file.name,)
    names = unpack(file, wanted.members, folder)
    file.unlink()
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
    rows = {"documents": dataset.documents, "questions": dataset.questions}
    found = [
        f"{len(rows[kind])} {kind}, and the card says {n}"
        for kind, n in dataset.card.counts.items()
        if len(rows[kind]) != n
    ]
    for kind, pins in dataset.card.pinned.items():
        for row, name in pins.items():
            held = rows[kind][row].id if -len(rows[kind]) <= row < len(rows[kind]) else "nothing"
            if held != name:
                found.append(f"row {row} of the {kind} is {held}, and the card says {name}")
    return found
