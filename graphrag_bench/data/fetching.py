"""Download published data sets with huggingface_hub and pooch, and unpack their archives."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from graphrag_bench.data.dataset import UNKNOWN, Card, Dataset, Download, Source
from graphrag_bench.errors import UserError, did_you_mean, result_or_error
from graphrag_bench.locks import lock
from graphrag_bench.progress import Progress
from graphrag_bench.terminal import refuse_secrets

HUB = "https://huggingface.co"
"""Address of the Hugging Face hub. The environment variable HF_ENDPOINT sets a mirror."""
MANIFEST = "fetched.json"
STAGING = ".fetching"
"""Folder that holds downloaded files, sorted by commit, until the data set is complete."""
_TRIES, _SECONDS = 3, 30.0


@dataclass(frozen=True)
class Fetched:
    """A downloaded file. `holds` lists its name on disk, or the files extracted from an archive."""

    url: str
    revision: str
    sha256: str
    checked: str  # source of the expected sha256: "card", "hub", or "" if it is unknown
    holds: tuple[str, ...]


def fetch(card: Card, folder: Path, *, endpoint: str = HUB, progress: Progress) -> list[Fetched]:
    """Download a data set into a folder, unless all files exist. A failed call can be repeated."""
    source = card.source
    if source is None:
        raise UserError(f"Data set '{card.name}' has nothing to download.")
    if not source.downloads:
        how = source.by_hand.strip() or f"see {source.url}"
        raise UserError(f"Data set '{card.name}' must be fetched by hand:\n{how}")
    refuse_secrets("endpoint", endpoint)
    with lock(folder / ".fetch.lock"):
        manifest, earlier = folder / MANIFEST, list[Fetched]()
        if manifest.is_file():
            rows = TypeAdapter(dict[Literal["files"], list[Fetched]])
            try:
                earlier = rows.validate_json(manifest.read_bytes()).get("files", [])
            except ValidationError:
                raise UserError(f"{manifest} is damaged. Delete {folder}, then repeat.") from None
        ours = {name for one in earlier for name in one.holds}
        if ours and all((folder / name).is_file() for name in ours):
            return earlier
        listings = {
            hub: _listing(source, hub, endpoint) if hub else (source.revision, {})
            for hub in dict.fromkeys(wanted.hub or source.hub for wanted in source.downloads)
        }
        staging = folder / STAGING / next(iter(listings.values()))[0]
        fetched = []
        for wanted in source.downloads:
            hub = wanted.hub or source.hub
            for remote in _remotes(wanted, hub, *listings[hub]):
                file, sha256 = _download(remote, wanted.size, staging, source.url, progress)
                members = unpack(file, wanted.members, staging) if wanted.members else remote.holds
                fetched.append(replace(remote, sha256=sha256, holds=tuple(members)))
        new = [name for one in fetched for name in one.holds]
        if own := [name for name in new if name not in ours and (folder / name).is_file()]:
            why = "`fetch` did not write this file. To use your own files, set dataset.root=FOLDER."
            raise UserError(f"{folder / own[0]} already exists. {why}")
        content = json.dumps({"files": [asdict(one) for one in fetched]}, indent=1)
        manifest.write_text(content + "\n", encoding="utf-8")
        for name in new:  # moved after the manifest is written, in case this process is killed
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(staging / name, folder / name)
        shutil.rmtree(folder / STAGING, ignore_errors=True)
    return fetched


def beir_card(card: Card, name: str) -> Card:
    """Return a copy of the card that downloads a data set in BEIR's layout from Hugging Face.

    `name` is `OWNER/NAME`, or `NAME` for the owner BeIR. BeIR publishes the relevance judgements as
    a separate data set. Other owners have them in the folder `qrels`.
    """
    owner, _, short = name.rpartition("/")
    of_beir = owner.lower() in ("", "beir")
    hub = f"BeIR/{short}" if of_beir else name
    path, apart = ("*.tsv", f"{hub}-qrels") if of_beir else ("qrels/*", "")
    downloads = [Download(path="corpus.jsonl*"), Download(path="queries.jsonl*"),
                 Download(path=path, hub=apart, to="qrels/")]  # fmt: skip
    source = Source(url=f"{HUB}/datasets/{hub}", hub=hub, downloads=downloads)
    return card.model_copy(update={"source": source})


def _listing(source: Source, hub: str, endpoint: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the commit of a data set on the hub, and its files as {path: (URL, sha256 or "")}."""
    import httpx2
    from huggingface_hub import HfApi, hf_hub_url

    revision = "main" if source.revision == UNKNOWN or hub != source.hub else source.revision
    try:
        info = HfApi(endpoint, token=False).dataset_info(
            hub, revision=revision, files_metadata=True, timeout=_SECONDS
        )
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{endpoint} does not list the data set {hub} ({str(error)[:300]}). See "
            f"{source.url}. You can set a mirror (HF_ENDPOINT=ADDRESS) or use files on disk "
            "(dataset.root=FOLDER)."
        ) from None
    commit = info.sha or revision
    where = {"repo_type": "dataset", "revision": commit, "endpoint": endpoint.rstrip("/")}
    return commit, {
        row.rfilename: (hf_hub_url(hub, row.rfilename, **where), row.lfs.sha256 if row.lfs else "")
        for row in info.siblings or []
    }


def _remotes(
    wanted: Download, hub: str, commit: str, listed: Mapping[str, tuple[str, str]]
) -> Iterator[Fetched]:
    """Yield each file of a download and its expected sha256. An unknown sha256 is ""."""
    stated = "" if wanted.sha256 == UNKNOWN else wanted.sha256
    files = [listed[path] for path in sorted(listed) if fnmatchcase(path, wanted.path)]
    if not files and not wanted.url:
        hint = did_you_mean(wanted.path, [*listed], [*listed][:8])
        raise UserError(f"{hub} has no file '{wanted.path}' at {commit}. {hint}")
    for url, sha256 in [(wanted.url, "")] if wanted.url else files:
        checked = "card" if stated else "hub" if sha256 else ""
        last = url.rpartition("/")[2]
        name = wanted.to + last if wanted.to.endswith("/") else wanted.to or last
        yield Fetched(url, commit, stated or sha256, checked, (name,))


def _download(
    remote: Fetched, size: int | None, staging: Path, page: str, progress: Progress
) -> tuple[Path, str]:
    import pooch

    (name,) = remote.holds
    pooch.get_logger().setLevel("ERROR")
    server = pooch.Pooch(staging, "", {name: None}, {name: remote.url}, _TRIES)
    try:
        path = Path(server.fetch(name, progressbar=not progress.quiet))
    except OSError as error:
        how = f"Repeat the command, or get it by hand ({page}) and set dataset.root=FOLDER."
        raise UserError(f"{remote.url}: download failed ({error}). {how}") from None
    actual = path.stat().st_size, str(pooch.file_hash(str(path)))
    stated = size or actual[0], remote.sha256 or actual[1]
    if actual != stated:
        path.unlink()
        raise UserError(
            f"{remote.url}: The size or the checksum is wrong, so the file was deleted.\n"
            f"  expected {stated[0]:,} bytes, sha256 {stated[1]}\n"
            f"  got      {actual[0]:,} bytes, sha256 {actual[1]}\n"
            "Try again, or read your own copy with dataset.root=FOLDER."
        )
    return path, actual[1]


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> list[str]:
    """Extract `members` (see `Download`) of a zip or tar, except links. Return the file names."""
    with TemporaryDirectory(dir=folder) as place:
        inside: Any = {} if archive.suffix == ".zip" else {"filter": "data"}  # a zip stays inside
        if fault := result_or_error(lambda: shutil.unpack_archive(archive, place, **inside)):
            raise UserError(f"{archive}: cannot be unpacked ({fault}).")
        files = [one for one in sorted(Path(place).rglob("[!.]*")) if one.is_file()]
        own = {one.relative_to(place).as_posix(): one for one in files if not one.is_symlink()}
        names: list[str] = []
        for pattern, name in members.items():
            if not (matching := [one for one in own if fnmatchcase(one, pattern)]):
                there = ", ".join([*own][:8]) or "none"
                raise UserError(f"{archive} has no member '{pattern}'. Its members are: {there}.")
            for one in matching:
                names.append(name or own[one].name)
                if names[-1] in names[:-1]:
                    raise UserError(f"{archive}: two members have the name '{names[-1]}'.")
                own[one].replace(folder / names[-1])
    return names


def differences(dataset: Dataset) -> list[str]:
    """Compare the numbers and ids of documents and questions with the card. Return differences."""
    ids = {"documents": [row.id for row in dataset.documents],
           "questions": [row.id for row in dataset.questions]}  # fmt: skip
    faults = [
        f"{len(ids[kind])} {kind}, but the card states {n}"
        for kind, n in dataset.card.counts.items()
        if len(ids[kind]) != n
    ]
    for kind, pins in dataset.card.pinned.items():
        there = dict(enumerate(ids[kind])) | dict(enumerate(ids[kind], -len(ids[kind])))
        faults += [
            f"row {row} of the {kind} is {there.get(row, 'nothing')}, but the card states {name}"
            for row, name in pins.items()
            if there.get(row) != name
        ]
    return faults
