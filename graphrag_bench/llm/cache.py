"""Replies, vectors and readings by key, in one SQLite file that threads and processes share.

One table, `cache`: the kind of a row, its key, the identity of the model that made it, the value
as bytes, and the rest as JSON. What a call has stored is committed when it returns.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RunStopped

Mode = Literal["off", "read", "write", "refresh"]
Kind = Literal["reply", "vector", "reading"]
REUSABLE = ("new", "valid", "corrected")
VERDICTS = (*REUSABLE, "unreadable", "failed")
KEY_DIGITS = 32
VERSION = 4
APPLICATION = 0x47524247
"""`GRBG`, in the header of every file of ours."""
_BUSY_SECONDS = 120.0
_TRIES, _PAUSE = 100, 0.05
_PORTION = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS cache (
  kind TEXT NOT NULL, key TEXT NOT NULL, identity TEXT NOT NULL, value BLOB NOT NULL,
  more TEXT NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID
"""
_NUMBERS = (
    "prompt_tokens", "completion_tokens", "reasoning_tokens", "usd", "seconds", "retries", "created"
)  # fmt: skip
_REPLY = ("verdict", "text", "finish", "model", "fingerprint", "reason", *_NUMBERS)
_PAID = ("model", "prompt_tokens", "usd")
_EARLIER: Mapping[str, tuple[Kind, str, Sequence[str]]] = {
    "replies": ("reply", "prompt", _REPLY),
    "vectors": ("vector", "numbers", _PAID),
    "readings": ("reading", "found", ()),
}
"""The tables of versions up to 3: the kind of their rows, the column of the value, the others."""


@dataclass(frozen=True)
class StoredReply:
    """A reply, or the failure (`reason`) that took its place.

    `verdict`: `new` (not read yet), `valid`, `corrected` (unreadable, but the reply to the
    corrective retry was not), `unreadable`, `failed`. `prompt` is the request as compressed JSON.
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
        """Return the row filled with a reply."""
        names = {field.name for field in fields(cls)}
        shared = {name: value for name, value in vars(reply).items() if name in names}
        return replace(row, **{**shared, "key": row.key, "verdict": verdict})


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
class StoredReading:
    """What a tagger found in one text, as compressed JSON."""

    key: str
    identity: str
    found: bytes


Row = StoredReply | StoredVector | StoredReading
_KINDS: Mapping[Kind, tuple[type[Any], str]] = {
    "reply": (StoredReply, "prompt"),
    "vector": (StoredVector, "numbers"),
    "reading": (StoredReading, "found"),
}
"""The dataclass of a kind, and its field that is the value."""


class Cache:
    """A file of replies, vectors and readings; with `reading` it is neither made nor changed.

    A file of an earlier version is read as it is, and becomes one of this version when it is opened
    to be written to. Raises UserError for a file of another program or of a later version, and
    where nothing can be written.
    """

    def __init__(self, path: str | Path, *, reading: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            if not reading:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._connect(reading)
            with ExitStack() as unprepared:
                unprepared.callback(self._connection.close)
                self._prepare(reading)
                unprepared.pop_all()
        except (sqlite3.Error, OSError) as error:
            hint = "" if reading else " To read it where nothing can be written: cache.mode=read."
            raise UserError(f"The cache {path} cannot be opened: {error}.{hint}") from None

    def _connect(self, reading: bool) -> sqlite3.Connection:
        how = "mode=ro" if reading else "mode=rwc"
        address = f"file:{quote(str(self.path.resolve()))}?{how}"
        if reading and not os.access(self.path.parent, os.W_OK):
            address += "&immutable=1"  # SQLite can make no log there, and nobody writes
        return sqlite3.connect(
            address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    def _prepare(self, reading: bool) -> None:
        query = self._connection.execute
        tables = {name for (name,) in query("SELECT name FROM sqlite_master WHERE type = 'table'")}
        version = int(query("PRAGMA user_version").fetchone()[0])
        ours = query("PRAGMA application_id").fetchone()[0] == APPLICATION
        if tables and not ours and not tables & {"cache", *_EARLIER}:
            raise UserError(
                f"'{self.path}' is a SQLite file of another program and is left as it is. Name a "
                "file of replies, or one that does not exist yet."
            )
        if version > VERSION:
            raise UserError(
                f"The cache {self.path} has version {version}; this program writes version "
                f"{VERSION}. Keep it for the program that made it and name another file."
            )
        earlier = [name for name in _EARLIER if name in tables]
        if reading:
            parts = [_as_rows(name) for name in earlier if version < VERSION]
            if "cache" not in tables or parts:
                parts.append("SELECT '', '', '', x'', '' WHERE 0")
                columns = "kind, key, identity, value, more"
                query(f"CREATE TEMP VIEW cache ({columns}) AS {' UNION ALL '.join(parts)}")
            return
        self._use_log()
        query("PRAGMA synchronous=NORMAL")
        if version < VERSION:
            with self._transaction():
                query(_TABLE)
                if int(query("PRAGMA user_version").fetchone()[0]) < VERSION:
                    for name in earlier:
                        query(f"INSERT OR IGNORE INTO cache {_as_rows(name)}")
                        query(f"DROP TABLE {name}")
                query(f"PRAGMA application_id={APPLICATION}")
                query(f"PRAGMA user_version={VERSION}")

    def _use_log(self) -> None:
        """Turn the write-ahead log on; who meets another process at it does not wait by itself."""
        for left in reversed(range(_TRIES)):
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if not left:
                    raise
                time.sleep(_PAUSE)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit what is done inside, or nothing of it; raises RunStopped where that fails."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except (sqlite3.Error, OSError) as error:
                raise RunStopped(f"The cache {self.path} cannot be written: {error}.") from None
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _some(self, kind: Kind, keys: Sequence[str]) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        for start in range(0, len(keys), _PORTION):
            part = keys[start : start + _PORTION]
            query = (
                "SELECT kind, key, identity, value, more FROM cache "
                f"WHERE kind = ? AND key IN ({', '.join('?' * len(part))})"
            )
            rows |= {str(one[1]): _row(*one) for one in self._read(query, [kind, *part])}
        return rows

    def _read(self, query: str, values: Sequence[str]) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise RunStopped(f"The cache {self.path} cannot be read: {error}.") from None

    def _put(self, kind: Kind, rows: Iterable[Row], *, replace: bool) -> None:
        insert = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
        values = (_values(kind, row) for row in rows)
        self._connection.executemany(f"{insert} INTO cache VALUES (?, ?, ?, ?, ?)", values)

    def get(self, key: str) -> StoredReply | None:
        """Return the reply of a key, whatever its verdict; None when there is none."""
        reply: StoredReply | None = self._some("reply", [key]).get(key)
        return reply

    def put(self, reply: StoredReply, *, replace: bool = False) -> StoredReply:
        """Store a reply and return the stored one.

        A readable reply that is there already (another process was faster) stays, unless
        `replace`. Raises RunStopped when the file cannot be written.
        """
        with self._transaction():
            stored = self.get(reply.key)
            if stored is not None and stored.verdict in REUSABLE and not replace:
                return stored
            self._put("reply", [reply], replace=True)
        return reply

    def judge(self, key: str, verdict: str) -> None:
        """Set the verdict of a reply that is there."""
        with self._transaction():
            if (stored := self.get(key)) is not None:
                self._put("reply", [replace(stored, verdict=verdict)], replace=True)

    def vectors(self, keys: Sequence[str]) -> dict[str, StoredVector]:
        """Return the vectors of some keys; keys without one are missing."""
        return self._some("vector", keys)

    def readings(self, keys: Sequence[str]) -> dict[str, StoredReading]:
        """Return the readings of some keys; keys without one are missing."""
        return self._some("reading", keys)

    def put_all(
        self, rows: Sequence[StoredVector] | Sequence[StoredReading], *, replace: bool = False
    ) -> None:
        """Store vectors or readings in one transaction; those that are there stay or go."""
        kind: Kind = "vector" if rows and isinstance(rows[0], StoredVector) else "reading"
        with self._transaction():
            self._put(kind, rows, replace=replace)

    def add(self, rows: Iterable[Row]) -> int:
        """Store rows of any kind, a readable reply that is there stays; return their number."""
        count = 0
        with self._transaction():
            for row in rows:
                count += 1
                if isinstance(row, StoredReply):
                    stored = self.get(row.key)
                    if stored is None or stored.verdict not in REUSABLE:
                        self._put("reply", [row], replace=True)
                else:
                    kind: Kind = "vector" if isinstance(row, StoredVector) else "reading"
                    self._put(kind, [row], replace=False)
        return count

    def rows(self) -> Iterator[Row]:
        """Return all replies, then all vectors and readings, each in the order of their keys."""
        query = (
            "SELECT kind, key, identity, value, more FROM cache WHERE kind = ? AND key > ? "
            f"ORDER BY key LIMIT {_PORTION}"
        )
        for kind in _KINDS:
            key = ""
            while portion := self._read(query, [kind, key]):
                yield from (_row(*one) for one in portion)
                key = str(portion[-1][1])

    def close(self) -> None:
        """Close the file; what was stored is in it already."""
        with self._lock:
            self._connection.close()


def is_sqlite(path: Path) -> bool:
    """Return whether a file is one of SQLite.

    SQLite looks itself: a process that opens a file by its own and closes it drops the locks that
    its connections hold on it.
    """
    with closing(
        sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    ) as looking:
        try:
            looking.execute("PRAGMA schema_version").fetchone()
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    return True


def _as_rows(table: str) -> str:
    kind, value, names = _EARLIER[table]
    more = ", ".join(f"'{name}', {name}" for name in names)
    return f"SELECT '{kind}', key, identity, {value}, json_object({more}) FROM {table} WHERE 1"


def _row(kind: Kind, key: str, identity: str, value: bytes, more: str) -> Row:
    made, name = _KINDS[kind]
    row: Row = made(key=key, identity=identity, **{name: value}, **json.loads(more))
    return row


def _values(kind: Kind, row: Row) -> tuple[str, str, str, bytes, str]:
    _, name = _KINDS[kind]
    more = {**vars(row)}
    return kind, more.pop("key"), more.pop("identity"), more.pop(name), json.dumps(more)


def vector_key(identity: str, kind: str, text: str) -> str:
    """Return the key of a vector: whatever can change it, whether it is of a question, the text."""
    written = json.dumps([identity, kind, text]).encode()
    return hashlib.sha256(written).hexdigest()[:KEY_DIGITS]


def reply_key(identity: str, request: Request) -> tuple[str, bytes]:
    """Return the key of a call, and the request as compressed JSON.

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
