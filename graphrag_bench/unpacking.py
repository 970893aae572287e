"""Limits on what packed files unpack to: archives, compressed replies and compressed HTTP."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from graphrag_bench.errors import UserError

MOST_TIMES = 100
"""Unpacked bytes for each packed one; texts and JSON have 3 to 20."""
MOST_BYTES = 1 << 36
ALWAYS = 1 << 26
"""Bytes that a file of any size may unpack to."""
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What a cut or damaged stream raises."""
_OPENERS: dict[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}


class TooLarge(UserError):
    """A packed file would unpack to more than any honest one."""


def most(n_packed: int) -> int:
    """The bytes that so many packed ones may become."""
    return min(max(n_packed * MOST_TIMES, ALWAYS), MOST_BYTES)


def too_large(what: str, n_packed: int) -> TooLarge:
    """The error for what would unpack to more."""
    return TooLarge(
        f"{what} unpacks to more than {most(n_packed):,} bytes, from {n_packed:,}: "
        f"{MOST_TIMES} times its size is the most that is unpacked, and {MOST_BYTES:,} bytes."
    )


class Bounded(io.RawIOBase):
    """A stream that is read no further than the limit; raises TooLarge there."""

    def __init__(self, inner: IO[bytes], what: str, n_packed: int) -> None:
        self._inner, self._what, self._n_packed = inner, what, n_packed
        self._most = most(n_packed)

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes, where the stream inside is."""
        return self._inner.seekable()

    def readinto(self, buffer: object) -> int:
        """Bytes read from the current position; 0 at the end."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        read = self._inner.read(len(view))
        if self._inner.tell() > self._most:
            raise too_large(self._what, self._n_packed)
        view[: len(read)] = read
        return len(read)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move, no further than the limit."""
        if whence == io.SEEK_SET and offset > self._most:
            raise too_large(self._what, self._n_packed)
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        """The current position in bytes."""
        return self._inner.tell()

    def close(self) -> None:
        """Close the stream inside too."""
        self._inner.close()
        super().close()


def opened(path: Path) -> IO[bytes]:
    """A file as it is unpacked, gzip, bzip2 or xz, within the limits; a plain file as it is."""
    with path.open("rb") as file:
        begins = file.read(6)
    for magic, opener in _OPENERS.items():
        if begins.startswith(magic):
            inner = cast(IO[bytes], opener(path))
            return io.BufferedReader(Bounded(inner, str(path), path.stat().st_size))
    return path.open("rb")


@contextmanager
def opened_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """A tar archive, compressed or not, within the limits; raises tarfile.TarError for no tar."""
    with opened(path) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        yield archive


def inflated(packed: bytes, kind: str, what: str) -> bytes:
    """The bytes of a gzip or deflate text, within the limits; raises zlib.error."""
    found = b""
    for bits in (31,) if kind == "gzip" else (15, -15):
        try:
            reader = zlib.decompressobj(bits)
            found = reader.decompress(packed, most(len(packed)) + 1)
        except zlib.error:
            if bits != -15 and kind != "gzip":
                continue
            raise
        break
    if len(found) > most(len(packed)):
        raise too_large(what, len(packed))
    return found
