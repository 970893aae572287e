"""One file over HTTP, by pooch: tried again, checked, and resumed where it stopped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_bench.errors import UserError
from graphrag_bench.progress import Advance, Progress

if TYPE_CHECKING:
    import requests

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may change when the request is repeated."""
TRIES = 7
"""How often a file or a listing is asked for; pooch waits 1 s, then 2 s, and so on up to 10 s."""
SECONDS = 30.0
"""The timeout of a connection, and of every read from it."""
_MOST_SECONDS = 60.0
"""The longest wait that a server can ask for (Retry-After)."""
_CLOSED = frozenset({401, 403})
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Remote:
    """A file at an address, the name it gets here, and what is known of it; "" for no checksum."""

    url: str
    name: str
    sha256: str = ""
    size: int | None = None
    page: str = ""


def download(remote: Remote, folder: Path, progress: Progress) -> str:
    """The sha256 of the file, which lies in `folder` under its name when it is whole and right.

    Bytes go to `<name>.part`. A download that was cut resumes there in the same command, and in the
    next one too when its checksum is known. Raises UserError for an address without a file, for a
    file of another size or checksum, for a full disk, and after `TRIES` tries; what came is kept in
    the last two cases.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    getting = _Resuming(remote, folder / f"{remote.name}.part", progress)
    registry, urls = {remote.name: None}, {remote.name: remote.url}
    held = pooch.create(folder, "", registry=registry, urls=urls, retry_if_failed=TRIES - 1)
    (folder / remote.name).unlink(missing_ok=True)
    try:
        held.fetch(remote.name, downloader=getting)
    except requests.RequestException as error:
        n_bytes = _size(getting.part) if remote.sha256 else 0
        raise UserError(
            f"{remote.url}: given up after {TRIES} tries ({_brief(error)}). {n_bytes} bytes are "
            f"kept in {folder}; run the same command again to resume."
        ) from None
    except OSError as error:
        reason = error.strerror or _brief(error)
        raise UserError(f"{remote.url}: cannot be written to {folder}: {reason}.") from None
    return getting.sha256


class _Resuming:
    """A downloader for pooch: its own one, which begins where the last try stopped.

    Neither library does the whole of this. Pooch begins each try with an empty file, knows no
    Retry-After, repeats what was answered with 404, and downloads a file of a wrong checksum again;
    huggingface_hub deletes the part when a command ends, and checks no sha256. It is also the
    progress bar that pooch fills (`total`, `update`, `reset`, `close`).
    """

    def __init__(self, remote: Remote, part: Path, progress: Progress) -> None:
        self.remote, self.part, self.progress = remote, part, progress
        self.sha256 = self._tag = ""
        self.total = self._done = self._have = 0
        self._advance: Advance | None = None

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        """One try; raises a RequestException for what may pass, UserError for what may not."""
        import requests
        from pooch import HTTPDownloader

        self._have = _size(self.part) if self.remote.sha256 or self._tag else 0
        self._done, self._advance = 0, None
        getting = HTTPDownloader(
            progressbar=self,
            chunk_size=_BLOCK,
            timeout=SECONDS,
            headers=self._headers(),
            hooks={"response": self._answered},
        )
        try:
            with ExitStack() as self._open:
                self._out = self._open.enter_context(self.part.open("ab" if self._have else "wb"))
                getting(url, self._out, pooch)
        except requests.RequestException as error:
            if isinstance(error, ValueError):
                raise UserError(f"{url}: this is not an address ({_brief(error)}).") from None
            if error.response is None or error.response.status_code != 416:
                self.progress.say(f"{self.remote.name}: {_brief(error)}")
                raise
        self._check()
        self.part.replace(output_file)

    def _headers(self) -> dict[str, str]:
        resumed = {"Range": f"bytes={self._have}-"} if self._have else {}
        same = {"If-Range": self._tag} if self._have and self._tag else {}
        return {"Accept-Encoding": "identity", **resumed, **same}

    def _answered(self, reply: requests.Response, **_: Any) -> None:
        """Look at a reply before its body is read: wait, refuse, or begin at the beginning."""
        status = reply.status_code
        if status in PASSING:
            asked = reply.headers.get("Retry-After", "")
            time.sleep(min(float(asked), _MOST_SECONDS) if asked.isdigit() else 0)
        elif status >= 400 and not (status == 416 and self._have):
            raise _refused(self.remote, status)
        elif status == 200:
            tag = reply.headers.get("ETag", "")
            self._tag = "" if tag.startswith("W/") else tag
            if self._have:
                self._have = self._out.truncate(0)

    def _check(self) -> None:
        """Hold size and sha256 against what is known; a wrong file is not kept.

        Raises a RequestException when a part of an earlier try may be to blame.
        """
        import pooch
        import requests

        remote, size = self.remote, _size(self.part)
        self.sha256 = pooch.file_hash(str(self.part))
        wrong_size = remote.size is not None and size != remote.size
        if not wrong_size and remote.sha256 in ("", self.sha256):
            return
        self.part.unlink()
        if self._have:
            raise requests.RequestException("the part that was kept is not of this file")
        if wrong_size:
            raise UserError(f"{remote.url}: {size} bytes came, {remote.size} were expected.")
        raise UserError(
            f"{remote.url}: the checksum is wrong, and the file was not kept.\n"
            f"  expected sha256 {remote.sha256}\n  came     sha256 {self.sha256}\n"
            "Either the download was damaged (try again), or the published file has changed."
        )

    def update(self, n: int) -> None:
        """Show `n` more bytes."""
        if self._advance is None:
            task = self.progress.task(f"{self.remote.name}, kB", self.total // 1000)
            self._advance = self._open.enter_context(task)
        before, self._done = self._done, min(self._done + n, self.total)
        self._advance(self._done // 1000 - before // 1000)

    def reset(self) -> None:
        """Nothing, as `close`: pooch ends by filling the bar, and the bar ends with the try."""

    close = reset


def _refused(remote: Remote, status: int) -> UserError:
    """The error for a reply that is not the file and will not be at the next try."""
    what = "the server asks for a log-in" if status in _CLOSED else "there is no such file"
    page = f" The publisher's page: {remote.page}." if remote.page else ""
    return UserError(
        f"{remote.url}: {what} ({status}).{page} Or download it by hand and name its folder: "
        "dataset.root=FOLDER."
    )


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
