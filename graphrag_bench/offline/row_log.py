"""Rows of texts that are written block by block: what a kill left whole is there the next time."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.columns import Texts
from graphrag_bench.values import IntArray

_HEAD = struct.Struct("<QQI")
"""Of a block: the bytes of its lengths, those of its texts, and a check sum of both."""


class RowLog:
    """A file of rows of `n_texts` texts each, in the order in which they were appended.

    A block that was appended is in the file, and its texts are not held in memory. Opened again,
    the log ends before the first block that is not whole.
    """

    def __init__(self, path: Path, n_texts: int) -> None:
        self.path, self.n_texts = path, n_texts
        self._starts, self._lengths = array("q"), array("q")
        path.touch()
        self._end = 0
        while self._read_block():
            pass
        with path.open("r+b") as file:
            file.truncate(self._end)

    @classmethod
    def anew(cls, path: Path, n_texts: int) -> RowLog:
        """A log without rows, whatever was in the file."""
        path.unlink(missing_ok=True)
        return cls(path, n_texts)

    def __len__(self) -> int:
        return len(self._starts) // self.n_texts

    def append(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Write a block of rows."""
        texts = [text.encode("utf-8", errors="replace") for row in rows for text in row]
        lengths = np.array([len(text) for text in texts], np.int64)
        payload = b"".join(texts)
        held = lengths.tobytes()
        head = _HEAD.pack(len(held), len(payload), crc32(payload, crc32(held)))
        with self.path.open("ab") as file:
            file.write(head + held + payload)
        self._note(lengths)

    def row(self, place: int) -> tuple[str, ...]:
        """The texts of a row."""
        found = []
        with self.path.open("rb") as file:
            for at in range(place * self.n_texts, (place + 1) * self.n_texts):
                file.seek(self._starts[at])
                found.append(file.read(self._lengths[at]).decode())
        return tuple(found)

    def column(self, which: int, places: IntArray) -> Texts:
        """The texts number `which` of the rows at these places, in that order."""
        at = places * self.n_texts + which
        starts, lengths = (np.array(held, np.int64)[at] for held in (self._starts, self._lengths))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        blob = np.empty(offsets[-1], np.uint8)
        if len(blob):
            held: NDArray[np.uint8] = np.memmap(self.path, np.uint8, "r")
            ends = zip(offsets.tolist(), starts.tolist(), lengths.tolist(), strict=False)
            for to, start, length in ends:
                blob[to : to + length] = held[start : start + length]
        return Texts(blob, offsets)

    def _note(self, lengths: IntArray) -> None:
        first = self._end + _HEAD.size + lengths.nbytes
        ends = first + np.cumsum(lengths)
        self._starts.extend((ends - lengths).tolist())
        self._lengths.extend(lengths.tolist())
        self._end = int(ends[-1]) if len(ends) else first

    def _read_block(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(self._end)
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return False
            n_lengths, n_payload, mark = _HEAD.unpack(head)
            left = self.path.stat().st_size - file.tell()
            if n_lengths % 8 or n_lengths + n_payload > left:
                return False
            held, payload = file.read(n_lengths), file.read(n_payload)
        lengths = np.frombuffer(held, np.int64)
        if crc32(payload, crc32(held)) != mark or lengths.sum() != n_payload:
            return False
        self._note(lengths)
        return True
