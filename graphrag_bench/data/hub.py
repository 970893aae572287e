"""The files of a data set on the hub, as its interface lists them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphrag_bench.data.card import UNKNOWN, Source
from graphrag_bench.data.download import PASSING, Patience, retry_after
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.progress import Progress

if TYPE_CHECKING:
    import httpx

HUB = "https://huggingface.co"
"""The hub's address; HF_ENDPOINT names a mirror."""


@dataclass(frozen=True)
class Listed:
    """A file of a data set: its path, its size, and its sha256 where the hub tells it ("")."""

    path: str
    size: int | None
    sha256: str


@dataclass(frozen=True)
class Listing:
    """The files of a data set at one commit."""

    hub: str
    endpoint: str
    commit: str
    files: tuple[Listed, ...]

    def matching(self, pattern: str) -> list[Listed]:
        """The files of that path or pattern, by path; raises UserError for none."""
        if found := [file for file in self.files if fnmatchcase(file.path, pattern)]:
            return sorted(found, key=lambda file: file.path)
        paths = [file.path for file in self.files]
        close = ", ".join(nearest(pattern, paths) or paths[:8]) or "it has none"
        raise UserError(f"{self.hub} has no file '{pattern}' at {self.commit}; nearest: {close}.")

    def url(self, file: Listed) -> str:
        """The address of a file at this commit."""
        path = quote(file.path)
        return f"{self.endpoint}/datasets/{self.hub}/resolve/{quote(self.commit)}/{path}"


def listing(
    source: Source,
    endpoint: str,
    client: httpx.Client,
    *,
    patience: Patience = Patience(),  # noqa: B008 (frozen)
    progress: Progress = Progress(quiet=True),  # noqa: B008 (stateless)
) -> Listing:
    """The files of a card's data set at its revision, or at the newest where that is unknown.

    Faults that may pass are waited for. Raises UserError when the hub cannot be reached, has no
    such set, or asks for a log-in.
    """
    revision = "main" if source.revision == UNKNOWN else source.revision
    address = f"{endpoint}/api/datasets/{source.hub}/revision/{quote(revision)}?blobs=true"
    reply = _reply(address, client, patience, progress)
    if reply.status_code != 200:
        raise UserError(
            f"{address}: the hub says {reply.status_code}. The set may ask for a log-in, or have "
            f"moved: see {source.url}."
        )
    try:
        told: dict[str, Any] = reply.json()
        files = tuple(_listed(row) for row in told["siblings"])
        commit = str(told.get("sha") or revision)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise UserError(f"{address}: the reply is no listing of a data set.") from None
    return Listing(source.hub, endpoint, commit, files)


def _reply(
    address: str, client: httpx.Client, patience: Patience, progress: Progress
) -> httpx.Response:
    """The hub's reply, tried again as long as patience lasts; the last one when it does not."""
    import httpx

    for failures in range(1, patience.tries + 1):
        try:
            reply = client.get(address, follow_redirects=True)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            said, asked = str(error) or type(error).__name__, None
            if failures == patience.tries or isinstance(error, httpx.InvalidURL):
                raise UserError(
                    f"{address}: the hub cannot be reached ({said}). A mirror is named by the "
                    "environment (HF_ENDPOINT=ADDRESS); files that are on disk are used by "
                    "dataset.root=FOLDER."
                ) from None
        else:
            if reply.status_code not in PASSING or failures == patience.tries:
                return reply
            said, asked = f"it says {reply.status_code}", retry_after(reply)
        progress.say(f"the hub: {said}; trying again")
        patience.wait(failures, asked)
    raise AssertionError("patience has at least one try")


def _listed(row: dict[str, Any]) -> Listed:
    large = row.get("lfs") or {}
    size = large.get("size", row.get("size"))
    return Listed(str(row["rfilename"]), size, str(large.get("sha256", "")))
