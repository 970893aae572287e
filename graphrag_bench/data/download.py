"""One file over HTTP: resumed by huggingface_hub where it stopped, and checked by pooch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress

_CLOSED = (401, 403)
_MISSING = (404, 410)


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
    file of another size or checksum, for a full disk, and when the server stays away; what came is
    kept in the last two cases.
    """
    import httpx2
    import pooch
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    from huggingface_hub.file_download import http_get

    pooch.get_logger().setLevel("ERROR")
    part = folder / f"{remote.name}.part"

    def resumed(url: str, target: str, _: object) -> None:
        n_held = _size(part) if remote.sha256 else 0
        with part.open("ab" if n_held else "wb") as out:
            http_get(
                url,
                out,
                resume_size=n_held,
                headers={"Accept-Encoding": "identity"},
                expected_size=remote.size,
                tqdm_class=partial(_bar, remote.name, progress),
            )
        part.replace(target)

    (folder / remote.name).unlink(missing_ok=True)
    known = remote.sha256 or None
    try:
        path = pooch.retrieve(remote.url, known, remote.name, folder, downloader=resumed)
    except HfHubHTTPError as error:
        raise _refused(remote, part, error.response.status_code) from None
    except OfflineModeIsEnabled:
        raise UserError("HF_HUB_OFFLINE=1 forbids downloads; unset it to fetch.") from None
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise UserError(f"{remote.url}: this is not an address ({error}).") from None
    except httpx2.HTTPError as error:
        raise _unfinished(remote, part, str(error) or type(error).__name__) from None
    except ValueError as error:
        raise UserError(
            f"{remote.url}: the checksum is wrong, and the file was not kept.\n  {error}\n"
            "Either the download was damaged (try again), or the published file has changed."
        ) from None
    except OSError as error:
        if error.errno is None:
            n_bytes = _size(part)
            part.unlink(missing_ok=True)
            said = f"{n_bytes} bytes came, {remote.size} were expected"
            raise UserError(f"{remote.url}: {said}.") from None
        raise UserError(f"{remote.url}: cannot be written to {folder}: {error.strerror}.") from None
    return str(pooch.file_hash(path))


@contextmanager
def _bar(
    name: str, progress: Progress, *, total: int | None, initial: int, **_: object
) -> Iterator[SimpleNamespace]:
    done = 0

    def update(n_bytes: int) -> None:
        nonlocal done
        before, done = done, done + n_bytes
        advance(done // 1000 - before // 1000)

    with progress.task(f"{name}, kB", ((total or 0) - initial) // 1000) as advance:
        yield SimpleNamespace(update=update)


def _refused(remote: Remote, part: Path, status: int) -> UserError:
    if status == 416:  # the part is longer than the file, so it is of another one
        part.unlink(missing_ok=True)
    if status not in (*_CLOSED, *_MISSING):
        return _unfinished(remote, part, f"HTTP {status}")
    what = "the server asks for a log-in" if status in _CLOSED else "there is no such file"
    page = f" The publisher's page: {remote.page}." if remote.page else ""
    return UserError(
        f"{remote.url}: {what} ({status}).{page} Or download it by hand and name its folder: "
        "dataset.root=FOLDER."
    )


def _unfinished(remote: Remote, part: Path, reason: str) -> UserError:
    n_bytes = _size(part) if remote.sha256 else 0
    return UserError(
        f"{remote.url}: given up ({reason}). {n_bytes} bytes are kept in {part.parent}; run the "
        "same command again to resume."
    )


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
