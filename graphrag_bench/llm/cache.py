"""Replies, vectors and readings by key, in one SQLite file that threads and processes share.

One table, `cache`: the kind of a row, its key, the identity of the model that made it, the value
as bytes, and the rest as JSON. What a call has stored is committed when it returns.
"""

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
from typing import Any, ClassVar, Literal, TypeVar, get_args
from urllib.parse import quote

from pydantic import ConfigDict

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RunStopped

Mode = Literal["off", "read", "write", "refresh"]
Verdict = Literal["new", "valid", "corrected", "unreadable", "failed"]
VERDICTS = get_args(Verdict)
REUSABLE = VERDICTS[:3]
KEY_DIGITS = 32
VERSION = 4
APPLICATION = 0x47524247
"""`GRBG`, in the header of every file of ours."""
_AS_JSON = ConfigDict(extra="forbid", strict=True, val_json_bytes="base64")
_BUSY_SECONDS = 120.0
_TRIES, _PAUSE = 100, 0.05
_PORTION = 500
_COLUMNS = "kind, key, identity, value, more"
_TABLE = """
CREATE TABLE IF NOT EXISTS cache (
  kind TEXT NOT NULL, key TEXT NOT NULL, identity TEXT NOT NULL, value BLOB NOT NULL,
  more TEXT NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class StoredReply:
    """A reply, or the failure (`reason`) that took its place.

    `verdict`: `new` (not read yet), `valid`, `corrected` (unreadable, but the reply to the
    corrective retry was not), `unreadable`, `failed`. `prompt` is the request as compressed JSON.
    """

    __pydantic_config__: ClassVar = _AS_JSON
    KIND: ClassVar = "reply"
    VALUE: ClassVar = "prompt"

    key: str
    identity: str
    prompt: bytes
    verdict: Verdict
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
        shared = {name: getattr(self, name) for name in _SHARED}
        return Completion(key=self.key, cached=True, **shared)

    @property
    def is_reusable(self) -> bool:
        """Whether the reply is handed out again: it is readable, or nobody has read it yet."""
        return self.verdict in REUSABLE

    def of(self, reply: Completion, verdict: Verdict) -> "StoredReply":
        """Return the row filled with a reply."""
        shared = {name: getattr(reply, name) for name in (*_SHARED, "seconds", "retries")}
        return replace(self, verdict=verdict, **shared)


_SHARED = (
    "text", "finish", "model", "fingerprint", "prompt_tokens", "completion_tokens",
    "reasoning_tokens", "usd",
)  # fmt: skip


@dataclass(frozen=True)
class StoredVector:
    """The vector of one text: float32 numbers, and what a server was paid for it."""

    __pydantic_config__: ClassVar = _AS_JSON
    KIND: ClassVar = "vector"
    VALUE: ClassVar = "numbers"

    key: str
    identity: str
    numbers: bytes
    model: str = ""
    prompt_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True)
class StoredReading:
    """What a tagger found in one text, as compressed JSON."""

    __pydantic_config__: ClassVar = _AS_JSON
    KIND: ClassVar = "reading"
    VALUE: ClassVar = "found"

    key: str
    identity: str
    found: bytes


Row = StoredReply | StoredVector | StoredReading
RowT = TypeVar("RowT", bound=Row)
_KINDS: Mapping[str, type[Any]] = {
    kind.KIND: kind for kind in (StoredReply, StoredVector, StoredReading)
}
_EARLIER: Mapping[str, type[Any]] = {
    "replies": StoredReply,
    "vectors": StoredVector,
    "readings": StoredReading,
}
"""The tables of versions up to 3; a field of a row was a column."""


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
        earlier = {name: _as_rows(name) for name in _EARLIER if name in tables}
        if reading and version < VERSION:
            parts = [*earlier.values(), "SELECT '', '', '', x'', '' WHERE 0"]
            query(f"CREATE TEMP VIEW cache ({_COLUMNS}) AS {' UNION ALL '.join(parts)}")
        if reading:
            return
        self._use_log()
        query("PRAGMA synchronous=NORMAL")
        if version < VERSION:
            with self._transaction():
                query(_TABLE)
                if int(query("PRAGMA user_version").fetchone()[0]) < VERSION:
                    for name, rows in earlier.items():
                        query(f"INSERT OR IGNORE INTO cache {rows}")
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

    def _select(self, condition: str, values: Sequence[str]) -> list[Any]:
        try:
            with self._lock:
                query = f"SELECT {_COLUMNS} FROM cache WHERE kind = ? AND {condition}"
                found = self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise RunStopped(f"The cache {self.path} cannot be read: {error}.") from None
        return [_row(*columns) for columns in found]

    def _put(self, row: Row, *, replace: bool) -> Row:
        """Store a row and return the stored one: a readable one that is there stays."""
        stored = self.get(row.key) if isinstance(row, StoredReply) and not replace else None
        if stored is not None and stored.is_reusable:
            return stored
        insert = "REPLACE" if replace or isinstance(row, StoredReply) else "IGNORE"
        more = {**vars(row)}
        values = row.KIND, more.pop("key"), more.pop("identity"), more.pop(row.VALUE)
        self._connection.execute(
            f"INSERT OR {insert} INTO cache VALUES (?, ?, ?, ?, ?)", (*values, json.dumps(more))
        )
        return row

    def some(self, kind: type[RowT], keys: Sequence[str]) -> dict[str, RowT]:
        """Return the rows of a kind by key; keys without one are missing."""
        rows: dict[str, RowT] = {}
        for start in range(0, len(keys), _PORTION):
            part = keys[start : start + _PORTION]
            condition = f"key IN ({', '.join('?' * len(part))})"
            rows |= {row.key: row for row in self._select(condition, [kind.KIND, *part])}
        return rows

    def get(self, key: str) -> StoredReply | None:
        """Return the reply of a key, whatever its verdict; None when there is none."""
        return self.some(StoredReply, [key]).get(key)

    def put(self, reply: StoredReply, *, replace: bool = False) -> StoredReply:
        """Store a reply and return the stored one.

        A readable reply that is there already (another process was faster) stays, unless
        `replace`. Raises RunStopped when the file cannot be written.
        """
        with self._transaction():
            stored = self._put(reply, replace=replace)
        assert isinstance(stored, StoredReply)
        return stored

    def judge(self, key: str, verdict: Verdict) -> None:
        """Set the verdict of a reply that is there, where it is another one."""
        if (stored := self.get(key)) is None or stored.verdict == verdict:
            return
        with self._transaction():
            if (stored := self.get(key)) is not None:
                self._put(replace(stored, verdict=verdict), replace=True)

    def put_all(self, rows: Iterable[Row], *, replace: bool = False) -> int:
        """Store rows in one transaction and return their number; readable ones stay or go."""
        with self._transaction():
            keys = [self._put(row, replace=replace).key for row in rows]
        return len(keys)

    def rows(self) -> Iterator[Row]:
        """Return all replies, then all vectors and readings, each in the order of their keys."""
        for kind in _KINDS:
            key = ""
            while portion := self._select(f"key > ? ORDER BY key LIMIT {_PORTION}", [kind, key]):
                yield from portion
                key = portion[-1].key

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
    """Return the query for the rows of an earlier table."""
    kind = _EARLIER[table]
    names = [field.name for field in fields(kind)]
    more = ", ".join(
        f"'{name}', {name}" for name in names if name not in ("key", "identity", kind.VALUE)
    )
    return f"SELECT '{kind.KIND}', key, identity, {kind.VALUE}, json_object({more}) FROM {table}"


def _row(kind: str, key: str, identity: str, value: bytes, more: str) -> Any:
    made = _KINDS[kind]
    return made(key=key, identity=identity, **{made.VALUE: value}, **json.loads(more))


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
