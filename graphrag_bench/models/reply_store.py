"""Paid replies and vectors, stored in one file for all later runs."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import cast

from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.marked_file import MarkedFile, always, never
from graphrag_bench.models.marked_rows import MarkedRows, create
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.sqlite_file import Journal, Work

VERSION = 3
"""2: rows have marks; 3: vectors by text. An earlier file can be read, and becomes one of 3 when it
is opened to be written to."""
REUSABLE = ("new", "valid", "corrected")
VERDICTS = (*REUSABLE, "unreadable", "failed")
_MANY = 500
_FEW = 16
_BY_TEXT = 3
KEY_DIGITS = 32


@dataclass(frozen=True)
class StoredReply:
    """One row: a reply, or the failure (`reason`) that took its place.

    `verdict`: `new` (not read yet), `valid`, `corrected` (could not be read, but the reply to the
    corrective retry could), `unreadable`, `failed`. `prompt` is the request as compressed JSON.
    """

    key: str
    identity: str
    prompt: bytes
    verdict: str
    text: str = ""
    finish: str = ""
    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    retries: int = 0
    reason: str = ""
    created: float = 0.0

    @property
    def completion(self) -> Completion:
        """The reply as it is handed out again: cached, no seconds, no retries.

        Raises CallFailed when the row holds a failure.
        """
        if self.verdict == "failed":
            raise CallFailed(self.reason, self.text)
        return Completion(
            self.text,
            self.prompt_tokens,
            self.completion_tokens,
            finish=self.finish,
            model=self.model,
            fingerprint=self.fingerprint,
            reasoning_tokens=self.reasoning_tokens,
            cached=True,
            usd=self.usd,
            key=self.key,
        )

    @classmethod
    def of(cls, row: StoredReply, reply: Completion, verdict: str) -> StoredReply:
        """The row filled with a reply."""
        shared = {name: value for name, value in vars(reply).items() if name in COLUMNS}
        return replace(row, **{**shared, "key": row.key, "verdict": verdict})


COLUMNS = tuple(field.name for field in fields(StoredReply))


@dataclass(frozen=True)
class StoredVector:
    """The vector of one text: float32 numbers, and what a server was paid for it."""

    key: str
    identity: str
    numbers: bytes
    model: str = ""
    prompt_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True)
class StoredVectors:
    """A block of vectors as versions 1 and 2 have them: float32 rows, one after the other."""

    key: str
    identity: str
    dimension: int
    rows: bytes
    model: str
    prompt_tokens: int
    usd: float


def _create(connection: sqlite3.Connection) -> None:
    create(connection, StoredReply, "replies")
    create(connection, StoredVectors, "vector_blocks")
    create(connection, StoredVector, "vectors")


class ReplyStore(MarkedFile):
    """Replies and vectors by key. A call that returned is in the file."""

    def __init__(
        self, path: str | Path, journal: Journal = "auto", *, reading: bool = False
    ) -> None:
        own = ("replies", COLUMNS)
        super().__init__(path, _create, VERSION, journal, own=own, reading=reading)
        marked = self.file.version > 1
        self._replies = MarkedRows(self.path, StoredReply, "replies", marked=marked)
        self._blocks = MarkedRows(self.path, StoredVectors, "vector_blocks", marked=marked)
        self._vectors = MarkedRows(self.path, StoredVector, "vectors")
        self._verdicts: dict[str, str] = {}

    def get(self, key: str) -> StoredReply | None:
        """The row of a key, whatever its verdict; None when there is none that is whole."""
        judged = self._verdicts.get(key)
        stored = self._replies.get(self._read, key)
        return replace(stored, verdict=judged) if stored and judged else stored

    def put(self, reply: StoredReply, *, replace: bool = False) -> StoredReply:
        """Store a reply; returns, once it is committed, the stored row.

        A readable reply that is there already (another process was faster) stays, unless
        `replace`. Raises RunStopped when the file cannot be written.
        """
        gives_way = always if replace else _not_reusable
        replies = self._replies  # a job holds the rows and not the store, as `judge` has it
        done = self._commits.submit(lambda into: replies.put(into, reply, gives_way))
        return cast(StoredReply, done.result())

    def add(self, replies: Iterable[StoredReply]) -> int:
        """Store many replies, as `put` does each; returns how many there were."""
        n_added = 0
        rows = iter(replies)
        while batch := list(islice(rows, _MANY)):
            self._commits.submit(self._adding(batch)).result()
            n_added += len(batch)
        return n_added

    def judge(self, key: str, verdict: str) -> None:
        """Set the verdict of a row: for this process now, in the file with the next commit.

        What waits holds the verdicts and not the store, which nobody would let go of otherwise.
        """
        verdicts, replies = self._verdicts, self._replies
        verdicts[key] = verdict

        def judged(into: sqlite3.Connection) -> None:
            if (row := replies.held(into, key)) is not None:
                replies.put(into, replace(row, verdict=verdict), always)

        done = self._commits.submit(judged, may_wait=True)
        done.add_done_callback(lambda _: verdicts.pop(key, None))

    def vectors(self, keys: Sequence[str]) -> dict[str, StoredVector]:
        """The vectors of some keys; keys without one that is whole are missing."""
        if self.file.version < _BY_TEXT:
            return {}
        return {row.key: row for row in self._vectors.some(self._read, keys)}

    def put_vectors(
        self, vectors: Iterable[StoredVector], *, replace: bool = False
    ) -> list[StoredVector]:
        """Store many vectors; returns, once all are committed, the stored ones in the same order.

        One that is there already stays, or is replaced. Thousands share a transaction.
        """
        return self._put_all(self._vectors, vectors, always if replace else never)

    def put_blocks(self, blocks: Iterable[StoredVectors]) -> list[StoredVectors]:
        """The same for blocks of an earlier version, of an exported file."""
        return self._put_all(self._blocks, blocks, never)

    def block(self, key: str) -> StoredVectors | None:
        """The block of a key, of an earlier version; None when there is none that is whole."""
        return self._blocks.get(self._read, key)

    def rows(self) -> Iterator[StoredReply]:
        """All replies, in the order of their keys, read in portions."""
        return self._replies.all(self._read, _MANY)

    def all_vectors(self) -> Iterator[StoredVector | StoredVectors]:
        """All vectors, then all blocks of them, each in the order of their keys."""
        if self.file.version >= _BY_TEXT:
            yield from self._vectors.all(self._read, _MANY)
        yield from self._blocks.all(self._read, _FEW)

    def _adding(self, batch: list[StoredReply]) -> Work:
        replies = self._replies
        return lambda into: [replies.put(into, reply, _not_reusable) for reply in batch]


def _not_reusable(held: StoredReply) -> bool:
    return held.verdict not in REUSABLE


def vector_key(identity: str, kind: str, text: str) -> str:
    """The key of a vector: whatever can change it, whether it is of a question, and the text."""
    written = json.dumps([identity, kind, text]).encode()
    return hashlib.sha256(written).hexdigest()[:KEY_DIGITS]


def reply_key(identity: str, request: Request) -> tuple[str, bytes]:
    """The key of a call, and the request as compressed JSON.

    In the key: model identity with its decoding settings, the whole prompt, max_tokens, stop,
    schema, trial.
    """
    written = json.dumps(
        {
            "identity": identity,
            "messages": [[message.role, message.content] for message in request.prompt],
            "max_tokens": request.max_tokens,
            "stop": list(request.stop),
            "schema": request.schema,
            "trial": request.trial,
        },
        sort_keys=True,
    ).encode()
    return hashlib.sha256(written).hexdigest()[:KEY_DIGITS], zlib.compress(written, 1)
