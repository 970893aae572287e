"""The files of a data set on the hub, as its interface lists them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphrag_bench.data.card import UNKNOWN, Source
from graphrag_bench.errors import UserError, nearest

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


def listing(source: Source, endpoint: str, client: httpx.Client) -> Listing:
    """The files of a card's data set at its revision, or at the newest where that is unknown.

    Raises UserError when the hub cannot be reached, has no such set, or asks for a log-in.
    """
    import httpx

    revision = "main" if source.revision == UNKNOWN else source.revision
    address = f"{endpoint}/api/datasets/{source.hub}/revision/{quote(revision)}?blobs=true"
    try:
        reply = client.get(address, follow_redirects=True)
    except httpx.TransportError as error:
        raise UserError(
            f"{address}: the hub cannot be reached ({error or type(error).__name__}). A mirror is "
            "named by the environment (HF_ENDPOINT=ADDRESS); files that are on disk are used by "
            "dataset.root=FOLDER."
        ) from None
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


def _listed(row: dict[str, Any]) -> Listed:
    large = row.get("lfs") or {}
    size = large.get("size", row.get("size"))
    return Listed(str(row["rfilename"]), size, str(large.get("sha256", "")))
