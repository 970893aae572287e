"""Replies and vectors that were paid for, kept in one file for every run to come."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import cast

from graphrag_bench.errors import UserError
from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.llm import CallFailed, Completion, RunStopped
from graphrag_bench.models.sqlite_file import Commits, Journal, Session, SqliteFile, Work
from graphrag_bench.text import encodable

VERSION = 1
REUSABLE = ("new", "valid", "corrected")
VERDICTS = (*REUSABLE, "unreadable", "failed")
_MANY = 500
_FEW = 16
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
        return replace(
            row,
            verdict=verdict,
            text=reply.text,
            finish=reply.finish,
            model=reply.model,
            fingerprint=reply.fingerprint,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            usd=reply.usd,
            seconds=reply.seconds,
            retries=reply.retries,
        )


COLUMNS = tuple(field.name for field in fields(StoredReply))
_KINDS = {"bytes": "BLOB", "str": "TEXT", "int": "INTEGER", "float": "REAL"}
_CREATE = f"""
CREATE TABLE IF NOT EXISTS replies (
    {", ".join(f"{f.name} {_KINDS[str(f.type)]} NOT NULL" for f in fields(StoredReply))},
    PRIMARY KEY (key));
CREATE TABLE IF NOT EXISTS vector_blocks (
    key TEXT PRIMARY KEY, identity TEXT NOT NULL, dimension INTEGER NOT NULL, rows BLOB NOT NULL,
    model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, usd REAL NOT NULL);
"""
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM replies"
_BY_KEY = f"{_SELECT} WHERE key = ?"
_INSERT = f"""
INSERT INTO replies ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{c} = excluded.{c}" for c in COLUMNS[1:])}
WHERE replies.verdict IN ('unreadable', 'failed') OR ?
"""
_INTO_VECTORS = "INTO vector_blocks VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class StoredVectors:
    """A block of vectors: float32 rows of `dimension` numbers, one after the other."""

    key: str
    identity: str
    dimension: int
    rows: bytes
    model: str
    prompt_tokens: int
    usd: float


class ReplyStore:
    """The file. Safe under threads, processes and kill -9: a call that returned is in it."""

    def __init__(
        self, path: str | Path, journal: Journal = "auto", *, reading: bool = False
    ) -> None:
        """Open it, or make it; raises UserError when that cannot be done, and for another's file.

        With `reading` the file must be there and is not changed, nor is anything made beside it: a
        disk that cannot be written to will do. Whatever writes raises RunStopped then.
        """
        self.path = Path(path)
        own = ("replies", COLUMNS)
        self.file = SqliteFile(self.path, _CREATE, VERSION, journal, own=own, reading=reading)
        self._writer = None if reading else Commits(self.file)
        self._session = Session(self.file)
        self._reading = threading.Lock()
        self._verdicts: dict[str, str] = {}

    def get(self, key: str) -> StoredReply | None:
        """The row of a key, whatever its verdict; None when there is none."""
        judged = self._verdicts.get(key)
        row = self._read(_BY_KEY, key)
        if row is None:
            return None
        stored = StoredReply(*row)  # type: ignore[arg-type]
        return replace(stored, verdict=judged) if judged else stored

    def put(self, reply: StoredReply, *, replace: bool = False) -> StoredReply:
        """Store a reply; returns, once it is committed, the row that stands.

        A readable reply that is there already (another process was faster) stays, unless
        `replace`. Raises RunStopped when the file cannot be written.
        """
        row = (*_written(reply), replace)

        def insert(connection: sqlite3.Connection) -> StoredReply:
            if connection.execute(_INSERT, row).rowcount:
                return reply
            return StoredReply(*connection.execute(_BY_KEY, (reply.key,)).fetchone())

        return cast(StoredReply, self._commits.submit(insert).result())

    def add(self, replies: Iterable[StoredReply]) -> int:
        """Store many replies, as `put` does each; returns how many there were."""
        n_added = 0
        rows = iter(replies)
        while batch := [(*_written(reply), False) for reply in islice(rows, _MANY)]:
            self._commits.submit(_inserting(batch)).result()
            n_added += len(batch)
        return n_added

    def judge(self, key: str, verdict: str) -> None:
        """Set the verdict of a row: for this process now, in the file with the next commit.

        What waits holds the verdicts and not the store, which nobody would let go of otherwise.
        """
        verdicts = self._verdicts
        verdicts[key] = verdict
        self._commits.submit(
            lambda connection: connection.execute(
                "UPDATE replies SET verdict = ? WHERE key = ?", (verdict, key)
            ),
            may_wait=True,
        ).add_done_callback(lambda done: verdicts.pop(key, None))

    def get_vectors(self, key: str) -> StoredVectors | None:
        """The block of a key; None when there is none."""
        row = self._read("SELECT * FROM vector_blocks WHERE key = ?", key)
        return None if row is None else StoredVectors(*row)  # type: ignore[arg-type]

    def put_vectors(self, vectors: StoredVectors, *, replace: bool = False) -> None:
        """Store a block; returns once it is committed. One that is there stays, or is replaced."""
        row = tuple(vars(vectors).values())
        rule = "REPLACE" if replace else "IGNORE"
        self._commits.submit(
            lambda connection: connection.execute(f"INSERT OR {rule} {_INTO_VECTORS}", row)
        ).result()

    def rows(self) -> Iterator[StoredReply]:
        """All replies, in the order of their keys, read in portions."""
        query = f"{_SELECT} WHERE key > ? ORDER BY key LIMIT {_MANY}"
        last = ""
        while portion := self._read_all(query, last):
            for row in portion:
                yield StoredReply(*row)  # type: ignore[arg-type]
            last = str(portion[-1][0])

    def vectors(self) -> Iterator[StoredVectors]:
        """All blocks of vectors, in the order of their keys."""
        query = f"SELECT * FROM vector_blocks WHERE key > ? ORDER BY key LIMIT {_FEW}"
        last = ""
        while portion := self._read_all(query, last):
            for row in portion:
                yield StoredVectors(*row)  # type: ignore[arg-type]
            last = str(portion[-1][0])

    @property
    def _commits(self) -> Commits:
        if self._writer is None:
            raise RunStopped(f"The cache {self.path} is read, and not written to.")
        return self._writer

    def close(self) -> None:
        """Write what waits and let go of the file."""
        if self._writer is not None:
            self._writer.close()
        with self._reading:
            self._session.close()

    def _read(self, query: str, key: str) -> tuple[object, ...] | None:
        found = self._read_all(query, key)
        return found[0] if found else None

    def _read_all(self, query: str, key: str) -> list[tuple[object, ...]]:
        try:
            with self._reading, self._session.connection() as connection:
                return connection.execute(query, (key,)).fetchall()
        except sqlite3.Error as error:
            raise UserError(f"The cache {self.path} cannot be read: {error}.") from None


def _written(reply: StoredReply) -> list[object]:
    """The values of a row, with `?` for half characters, which the file cannot hold."""
    values = vars(reply).values()
    return [encodable(value) if isinstance(value, str) else value for value in values]


def _inserting(batch: list[tuple[object, ...]]) -> Work:
    return lambda connection: connection.executemany(_INSERT, batch)


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
