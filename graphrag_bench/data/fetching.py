"""Download published data sets: list their files (huggingface_hub), fetch them (pooch), unpack."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphrag_bench.data.dataset import UNKNOWN, Card, Dataset, Download, Source
from graphrag_bench.errors import UserError, did_you_mean, result_or_error
from graphrag_bench.locks import lock
from graphrag_bench.progress import Progress
from graphrag_bench.terminal import refuse_secrets

HUB = "https://huggingface.co"
"""The address of the hub; HF_ENDPOINT sets a mirror."""
MANIFEST = "fetched.json"
STAGING = ".fetching"
"""The folder of downloaded files, by commit, until the data set is complete."""
_TRIES, _SECONDS = 3, 30.0


@dataclass(frozen=True)
class Fetched:
    """A downloaded file.

    `checked` is the source of the sha256: "card", "hub", or "" if no sha256 was published. `holds`
    has the name of the file on disk, or the names of the files that were extracted from it.
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
    """Download a data set into a folder, unless a complete copy is there, and return its files.

    Raises UserError for a set without downloads (with instructions if it is fetched by hand) and
    for failed downloads, which the next call resumes.
    """
    source = card.source
    if source is None:
        raise UserError(f"Data set '{card.name}' has nothing to download.")
    if not source.downloads:
        how = source.by_hand.strip() or f"see {source.url}"
        raise UserError(f"Data set '{card.name}' must be fetched by hand:\n{how}")
    refuse_secrets("endpoint", endpoint)
    with lock(folder / ".fetch.lock"):
        earlier = read_manifest(folder)
        ours = {name for one in earlier for name in one.holds}
        if earlier and all((folder / name).is_file() for name in ours):
            return earlier
        hubs = dict.fromkeys(wanted.hub or source.hub for wanted in source.downloads)
        listings = {
            hub: _listing(source, hub, endpoint) if hub else (source.revision, {}) for hub in hubs
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
        for name in new:
            if name not in ours and (folder / name).is_file():
                raise UserError(
                    f"{folder / name} exists and is not overwritten, because `fetch` did not write "
                    "it. To use your own files, run with dataset.root=FOLDER."
                )
        content = json.dumps({"files": [asdict(one) for one in fetched]}, indent=1)
        (folder / MANIFEST).write_text(content + "\n", encoding="utf-8")
        for name in new:  # after the manifest, which names these files if this process is killed
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(staging / name, folder / name)
        shutil.rmtree(folder / STAGING, ignore_errors=True)
    return fetched


def beir_card(card: Card, name: str) -> Card:
    """Return the card with the downloads of one data set of the hub in BEIR's layout.

    `name` is `OWNER/NAME`, or `NAME` (`scifact`) for a data set of the owner BeIR. BeIR keeps the
    judgements in a separate data set; other owners keep them in the folder qrels.
    """
    owner, _, short = name.rpartition("/")
    of_beir = owner.lower() in ("", "beir")
    hub = f"BeIR/{short}" if of_beir else name
    downloads = [Download(path="corpus.jsonl*"), Download(path="queries.jsonl*")]
    path, apart = ("*.tsv", f"{hub}-qrels") if of_beir else ("qrels/*", "")
    downloads.append(Download(path=path, hub=apart, to="qrels/"))
    source = Source(url=f"{HUB}/datasets/{hub}", hub=hub, downloads=downloads)
    return card.model_copy(update={"source": source})


def _listing(source: Source, hub: str, endpoint: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the commit, and the URL and sha256 ("" for a small file) of each file."""
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
            f"{source.url}, set a mirror (HF_ENDPOINT=ADDRESS), or read files on disk "
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
    """Yield each file of a download, with its expected sha256 ("" if unknown)."""
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
    server = pooch.create(
        staging, base_url="", registry={name: None}, urls={name: remote.url},
        retry_if_failed=_TRIES,
    )  # fmt: skip
    try:
        path = Path(server.fetch(name, progressbar=not progress.quiet))
    except OSError as error:
        raise UserError(
            f"{remote.url}: download failed ({error}). Run the same command again, or download "
            f"it by hand ({page}) and set dataset.root=FOLDER."
        ) from None
    actual = path.stat().st_size, str(pooch.file_hash(str(path)))
    stated = size or actual[0], remote.sha256 or actual[1]
    if actual != stated:
        path.unlink()
        raise UserError(
            f"{remote.url}: wrong size or checksum; the file was deleted.\n"
            f"  expected {stated[0]:,} bytes, sha256 {stated[1]}\n"
            f"  got      {actual[0]:,} bytes, sha256 {actual[1]}\n"
            "Try again, or read your own copy with dataset.root=FOLDER."
        )
    return path, actual[1]


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> list[str]:
    """Extract files of a zip or tar archive into a folder, and return the extracted file names.

    `members` maps patterns of member names to names on disk ("" keeps the last part of the
    member's name). Links are skipped. Raises UserError for a pattern without a member, for two
    members of the same name, and for an archive that is damaged or encrypted.
    """
    with TemporaryDirectory(dir=folder) as place:
        inside: Any = {} if archive.suffix == ".zip" else {"filter": "data"}  # a zip stays inside
        fault = result_or_error(lambda: shutil.unpack_archive(archive, place, **inside))
        if fault is not None:
            raise UserError(f"{archive}: cannot be unpacked ({fault}).")
        files = [one for one in sorted(Path(place).rglob("[!.]*")) if one.is_file()]
        own = {one.relative_to(place).as_posix(): one for one in files if not one.is_symlink()}
        names: list[str] = []
        for pattern, name in members.items():
            matching = [one for one in own if fnmatchcase(one, pattern)]
            if not matching:
                there = ", ".join([*own][:8]) or "none"
                raise UserError(f"{archive} has no member '{pattern}'; its members: {there}.")
            for one in matching:
                names.append(name or own[one].name)
                if names[-1] in names[:-1]:
                    raise UserError(f"{archive}: two members have the name '{names[-1]}'.")
                own[one].replace(folder / names[-1])
    return names


def read_manifest(folder: Path) -> list[Fetched]:
    """Return the files of an earlier download into a folder; [] if there was none."""
    file = folder / MANIFEST
    rows = json.loads(file.read_text(encoding="utf-8"))["files"] if file.is_file() else []
    return [Fetched(**{**row, "holds": tuple(row["holds"])}) for row in rows]


def differences(dataset: Dataset) -> list[str]:
    """Return a text for each difference between a data set and its card.

    A card states the numbers of documents and questions, and may state the ids of some of them.
    """
    ids = {
        "documents": [row.id for row in dataset.documents],
        "questions": [row.id for row in dataset.questions],
    }
    faults = []
    for kind, n in dataset.card.counts.items():
        if len(ids[kind]) != n:
            faults.append(f"{len(ids[kind])} {kind}, but the card states {n}")
    for kind, pins in dataset.card.pinned.items():
        there = dict(enumerate(ids[kind])) | dict(enumerate(ids[kind], -len(ids[kind])))
        for row, name in pins.items():
            if (found := there.get(row, "nothing")) != name:
                faults.append(f"row {row} of the {kind} is {found}, but the card states {name}")
    return faults
