"""One file over HTTP: resumed where it stopped, tried again with patience, and checked."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.errors import UserError
from graphrag_bench.progress import Advance, Progress

if TYPE_CHECKING:
    import httpx

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Replies that another try may better."""
_CLOSED = frozenset({401, 403})


@dataclass(frozen=True)
class Remote:
    """A file at an address, the name it gets here, and what is known of it; "" for no checksum."""

    url: str
    name: str
    sha256: str = ""
    size: int | None = None
    page: str = ""


@dataclass(frozen=True)
class Patience:
    """How often a download is tried without a new byte, and how long is waited in between.

    Seconds double from `first` up to `most`; a server's Retry-After is honoured up to `most`.
    """

    tries: int = 6
    first: float = 1.0
    most: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, failures: int, asked: float | None) -> None:
        """Wait before the next try; `failures` counts from 1."""
        seconds = self.first * 2 ** (failures - 1) if asked is None else asked
        self.sleep(min(seconds, self.most))


class _Passing(Exception):
    """A fault that may pass; `seconds` is what the server asks to wait."""

    def __init__(self, words: str, seconds: float | None = None) -> None:
        super().__init__(words)
        self.seconds = seconds


def download(
    remote: Remote,
    folder: Path,
    client: httpx.Client,
    *,
    patience: Patience = Patience(),  # noqa: B008 (frozen)
    progress: Progress = Progress(quiet=True),  # noqa: B008 (stateless)
) -> str:
    """The sha256 of the file, which lies in `folder` under its name when it is whole and right.

    Bytes go to `<name>.part`. A download that was cut goes on there when the server says that the
    file is the same (ETag or Last-Modified) or a checksum will tell. Raises UserError for an
    address without a file, for a file of another size or checksum, and when patience ends; what
    came is kept in the last case.
    """
    part = folder / f"{remote.name}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    _fetch(remote, part, client, patience, progress)
    found, size = _sha256(part), part.stat().st_size
    if remote.size is not None and size != remote.size:
        _forget(part)
        raise UserError(f"{remote.url}: {size} bytes came, {remote.size} were expected.")
    if remote.sha256 and found != remote.sha256:
        _forget(part)
        raise UserError(
            f"{remote.url}: the checksum is wrong, and the file was not kept.\n"
            f"  expected sha256 {remote.sha256}\n  came     sha256 {found}\n"
            "Either the download was damaged (try again), or the published file has changed."
        )
    os.replace(part, folder / remote.name)
    _forget(part)
    return found


def _fetch(
    remote: Remote, part: Path, client: httpx.Client, patience: Patience, progress: Progress
) -> None:
    """Complete the part file, trying again after faults that may pass."""
    import httpx

    failures = 0
    while True:
        before = _size(part)
        try:
            _stream(remote, part, client, progress)
        except (httpx.TransportError, _Passing) as error:
            failures = 1 if _size(part) > before else failures + 1
            if failures >= patience.tries:
                raise UserError(
                    f"{remote.url}: given up after {failures} tries ({_words(error)}). "
                    f"{_size(part)} bytes are kept in {part}; the same command goes on from there."
                ) from None
            asked = error.seconds if isinstance(error, _Passing) else None
            progress.say(f"{remote.name}: {_words(error)}; trying again")
            patience.wait(failures, asked)
        else:
            return


def _stream(remote: Remote, part: Path, client: httpx.Client, progress: Progress) -> None:
    """Ask for what is missing and write it down as it comes."""
    have, tag = _size(part), _tag(part)
    headers = {"Accept-Encoding": "identity"}
    if have and (tag or remote.sha256):
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": tag} if tag else {})
    with client.stream("GET", remote.url, headers=headers, follow_redirects=True) as reply:
        if reply.status_code == 416 and have:
            if reply.headers.get("Content-Range", "").endswith(f"/{have}"):
                return  # it was whole already
            _forget(part)
            raise _Passing("the part that was kept is not of this file")
        _refuse(reply, remote)
        goes_on = reply.status_code == 206
        if goes_on and not _begins_at(reply, have):
            _forget(part)
            raise _Passing("the server sent another part than was asked for")
        if not goes_on:
            _keep_tag(part, reply)
        left = int(reply.headers.get("Content-Length", 0))
        with (
            part.open("ab" if goes_on else "wb") as out,
            progress.task(f"{remote.name}, kB", left // 1000) as advance,
        ):
            _write(reply, out.write, advance)


def _write(reply: httpx.Response, write: Callable[[bytes], int], advance: Advance) -> None:
    told = n_bytes = 0
    for block in reply.iter_raw():
        n_bytes += write(block)
        advance(n_bytes // 1000 - told)
        told = n_bytes // 1000


def _refuse(reply: httpx.Response, remote: Remote) -> None:
    """Raise for a reply that is not the file."""
    status = reply.status_code
    if status in (200, 206):
        return
    if status in PASSING:
        raise _Passing(f"the server says {status}", retry_after(reply))
    page = f" The publisher's page: {remote.page}." if remote.page else ""
    by_hand = "Or download it by hand and name its folder: dataset.root=FOLDER."
    if status in _CLOSED:
        raise UserError(f"{remote.url}: the server asks for a log-in ({status}).{page} {by_hand}")
    raise UserError(f"{remote.url}: there is no such file ({status}).{page} {by_hand}")


def retry_after(reply: httpx.Response) -> float | None:
    """The seconds that a server asks to wait; None when it names none."""
    asked: str = reply.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else None


def _begins_at(reply: httpx.Response, have: int) -> bool:
    said: str = reply.headers.get("Content-Range", "")
    return said.startswith(f"bytes {have}-")


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _tag(part: Path) -> str:
    file = _tag_file(part)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _keep_tag(part: Path, reply: httpx.Response) -> None:
    """Keep what tells this version of the file from another one; a weak ETag does not."""
    tag: str = reply.headers.get("ETag", "")
    tag = "" if tag.startswith("W/") else tag
    _tag_file(part).write_text(tag or reply.headers.get("Last-Modified", ""), encoding="utf-8")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag_file(part).unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
