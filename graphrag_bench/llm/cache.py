"""SQLite cache of replies, vectors and tagger outputs, which threads and processes can share."""

import base64
import gzip
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import starmap
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, TypeVar, cast, get_args
from urllib.parse import quote
from weakref import WeakValueDictionary

from pydantic import ConfigDict, TypeAdapter, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RunStopped
from graphrag_bench.locks import is_network_drive, lock

Verdict = Literal["new", "valid", "corrected", "unreadable", "failed"]
WAITING = "waiting"
"""Failure reason of a request that waits for its reply from a batch."""
VERDICTS = (*get_args(Verdict), WAITING)
VECTORS = "vectors"
_KEY_DIGITS = 32
VERSION = 4
"""Version of the format of cache files. Files with another version raise UserError."""
APPLICATION = 0x47524247  # `GRBG`
FORMAT = {"format": "graphrag-bench replies", "version": 1}
"""The first line of a file with exported cache rows."""
_EXPORTS = (".jsonl", ".gz")
_HEADER, _WRITE_VERSION = 19, 18
"""Number of bytes to read from a SQLite file. Byte 18 is 1 for a rollback journal and 2 for WAL."""
_TABLE = """
CREATE TABLE IF NOT EXISTS cache (
  kind TEXT NOT NULL, key TEXT NOT NULL, identity TEXT NOT NULL, value BLOB NOT NULL,
  more TEXT NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID
"""
_SELECT = "SELECT kind, key, identity, value, more FROM cache WHERE kind = ?"
_PUT = """
INSERT INTO cache VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
SET identity = excluded.identity, value = excluded.value, more = excluded.more
WHERE json_extract(cache.more, '$.verdict') IN ('unreadable', 'failed')
"""
_SET_VERDICT = """
UPDATE cache SET more = json_set(more, '$.verdict', ?1)
WHERE kind = 'reply' AND key = ?2 AND json_extract(more, '$.verdict') != ?1
"""
_STRICT = ConfigDict(extra="forbid", strict=True, val_json_bytes="base64")


@dataclass(frozen=True, kw_only=True)
class StoredReply(Completion):
    """Stored reply, or stored failure with its `reason` and its message as `text`.

    The verdict is `new` until the reply is parsed, and `corrected` if only the reply to a
    corrective retry is readable. `prompt` is the request as compressed JSON.
    """

    __pydantic_config__: ClassVar = _STRICT
    KIND: ClassVar = "reply"
    VALUE: ClassVar = "prompt"

    identity: str
    prompt: bytes
    verdict: Verdict
    reason: str = ""
    created: float = 0.0

    @property
    def completion(self) -> Completion:
        """The reply as a cached completion. Raises CallFailed if a failure is stored."""
        if self.verdict == "failed":
            raise CallFailed(self.reason, self.text)
        values = {field.name: getattr(self, field.name) for field in fields(Completion)}
        return Completion(**values | {"cached": True, "seconds": 0.0, "retries": 0})


@dataclass(frozen=True)
class StoredVector:
    """Stored vector of a text, as float32 numbers. A vector from a server has a price."""

    __pydantic_config__: ClassVar = _STRICT
    KIND: ClassVar = "vector"
    VALUE: ClassVar = "numbers"

    key: str
    identity: str
    numbers: bytes
    model: str = ""
    prompt_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True)
class StoredTagging:
    """Stored output of a tagger for a text, as compressed JSON."""

    __pydantic_config__: ClassVar = _STRICT
    KIND: ClassVar = "reading"
    VALUE: ClassVar = "found"

    key: str
    identity: str
    found: bytes


CacheRow = StoredReply | StoredVector | StoredTagging
CacheRowT = TypeVar("CacheRowT", bound=CacheRow)
_ROW: TypeAdapter[CacheRow] = TypeAdapter(CacheRow)
_KINDS: Mapping[str, type[Any]] = {kind.KIND: kind for kind in get_args(CacheRow)}


class Cache:
    """Cache file, unchanged if `reading` is true. Each method commits before it returns."""

    def __init__(self, path: str | Path, *, reading: bool = False) -> None:
        self.path = Path(path)
        self.reading = reading
        self._lock = threading.RLock()
        self._key_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._connection: sqlite3.Connection | None = None
        closed = reading and not os.access(self.path.parent, os.W_OK)
        header = b""
        try:
            if not reading:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError), self.path.open("rb") as file:
                header = file.read(_HEADER)
            # On a network drive, SQLite's write-ahead log lacks shared memory, and file locks are
            # unreliable. Each transaction then holds a lease, opens the file, and writes a rollback
            # journal. On the machine that owns the drive, only the header shows this.
            self.by_lease = not closed and (
                header[_WRITE_VERSION:] == b"\x01" or is_network_drive(self.path.parent)
            )
            if not self.by_lease:  # SQLite cannot create a log in a folder that is not writable
                self._connection = self._connect("&immutable=1" if closed else "")
            with self._session() as connection:
                self._prepare(connection.execute)
        except (sqlite3.Error, OSError) as error:
            hint = "" if reading else " cache.mode=read opens the file without changing it."
            raise UserError(f"The cache {path} cannot be opened: {error}.{hint}") from None

    def _connect(self, more: str) -> sqlite3.Connection:
        mode = "ro" if self.reading else "rwc"
        address = f"file:{quote(str(self.path.resolve()))}?mode={mode}{more}"
        return sqlite3.connect(
            address, timeout=120.0, isolation_level=None, check_same_thread=False, uri=True
        )

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        if self._connection is not None:
            yield self._connection
            return
        with lock(Path(f"{self.path}.lock")), closing(self._connect("&vfs=unix-none")) as opened:
            opened.execute("PRAGMA locking_mode=EXCLUSIVE")  # works without shared memory
            if not self.reading:
                opened.execute("PRAGMA journal_mode=TRUNCATE")
            opened.execute("PRAGMA synchronous=NORMAL")
            yield opened

    def _prepare(self, query: Callable[[str], sqlite3.Cursor]) -> None:
        is_new = query("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        (application,) = query("PRAGMA application_id").fetchone()
        (version,) = query("PRAGMA user_version").fetchone()
        if not is_new and (application, version) != (APPLICATION, VERSION):
            raise UserError(
                f"'{self.path}' is not a cache of version {VERSION}: it belongs to another version "
                f"({version}) or to another program. Choose another file."
            )
        if self.reading:
            return
        if not self.by_lease:
            with suppress(sqlite3.OperationalError):  # another process is changing the mode
                query("PRAGMA journal_mode=WAL")
            query("PRAGMA synchronous=NORMAL")
        ids = (f"PRAGMA application_id={APPLICATION}", f"PRAGMA user_version={VERSION}")
        for statement in ("BEGIN IMMEDIATE", _TABLE, *ids, "COMMIT"):
            query(statement)

    @contextmanager
    def _transaction(self, verb: str) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, self._session() as session, session as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise RunStopped(f"The cache {self.path} cannot be {verb}: {error}.") from None

    def get_many(self, kind: type[CacheRowT], keys: Iterable[str]) -> dict[str, CacheRowT]:
        """Return the stored replies, vectors or tagger outputs with these keys, as {key: row}."""
        query = f"{_SELECT} AND key IN (SELECT value FROM json_each(?))"
        with self._transaction("read") as connection:
            rows = connection.execute(query, (kind.KIND, json.dumps(list(keys)))).fetchall()
        return {row.key: row for row in starmap(_row, rows)}

    def get(self, key: str) -> StoredReply | None:
        """Return the stored reply or failure with this key. If there is none, return None."""
        return self.get_many(StoredReply, [key]).get(key)

    def put(self, *rows: CacheRow) -> int:
        """Store rows and return their number. Only unreadable or failed replies are replaced."""
        if self.reading:
            return 0
        n_stored = 0
        with self._transaction("written") as connection:
            if len(rows) > 1:  # a single statement does not need a transaction
                connection.execute("BEGIN IMMEDIATE")
            for row in rows:
                more = _values(row)
                values = row.KIND, more.pop("key"), more.pop("identity"), more.pop(row.VALUE)
                n_stored += connection.execute(_PUT, (*values, json.dumps(more))).rowcount
        return n_stored

    def set_verdict(self, key: str, verdict: Verdict) -> None:
        """Set the verdict of a stored reply, e.g. `valid` or `unreadable`."""
        if not self.reading:
            with self._transaction("written") as connection:
                connection.execute(_SET_VERDICT, (verdict, key))

    def lock(self, key: str) -> threading.Lock:
        """Return the lock of a key, which prevents two threads from requesting the same reply."""
        with self._lock:
            return self._key_locks.setdefault(key, threading.Lock())

    def rows(self) -> Iterator[CacheRow]:
        """Yield all stored replies, then all vectors, then all tagger outputs, sorted by key."""
        with self._transaction("read") as connection:
            for kind in _KINDS:
                yield from starmap(_row, connection.execute(f"{_SELECT} ORDER BY key", [kind]))

    def close(self) -> None:
        """Close the cache file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


def _values(row: CacheRow) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name != "cached"}


def _row(kind: str, key: str, identity: str, value: bytes, more: str) -> Any:
    row_type = _KINDS[kind]
    return row_type(key=key, identity=identity, **{row_type.VALUE: value}, **json.loads(more))


def row_key(*parts: object) -> str:
    """Return the cache key of some values: a prefix of the sha256 of the values as JSON."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_KEY_DIGITS]


def reply_key(identity: str, request: Request) -> tuple[str, bytes]:
    """Return the cache key of a request to a model, and the request as compressed JSON."""
    messages = [[message.role, message.content] for message in request.prompt]
    values = {**vars(request), "identity": identity, "messages": messages}
    del values["prompt"]
    written = json.dumps(values, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:_KEY_DIGITS], zlib.compress(written, 1)


def cache_stats(path: str | Path) -> dict[str, Counter[str]]:
    """Count the rows, tokens and dollars of a cache or an exported file, by model and verdict."""
    models: dict[str, Counter[str]] = {}
    for row in rows_in(path):
        if isinstance(row, StoredTagging):
            continue
        counts = models.setdefault(row.identity, Counter())
        waits = getattr(row, "reason", "") == WAITING
        counts[WAITING if waits else getattr(row, "verdict", VECTORS)] += 1
        counts["cut"] += getattr(row, "finish", "") == "length"
        for name in ("prompt_tokens", "completion_tokens", "usd"):
            counts[name] += getattr(row, name, 0)
    return dict(sorted(models.items()))


def export_rows(cache: str | Path, file: str | Path) -> int:
    """Write all rows to a .jsonl or .jsonl.gz file atomically, and return the number of rows."""
    path, count = Path(file), 0
    if path.suffix not in _EXPORTS:
        raise UserError(f"'{path}': the name of an export must end in .jsonl or .jsonl.gz.")
    part = path.with_name(f".part-{path.name}")
    try:
        with _open(part, "wt") as out:
            out.write(json.dumps(FORMAT) + "\n")
            for count, row in enumerate(rows_in(cache), 1):  # noqa: B007 - returned
                values = _values(row)
                values[row.VALUE] = base64.b64encode(values[row.VALUE]).decode()
                out.write(json.dumps(values, ensure_ascii=False) + "\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count


def import_rows(file: str | Path, cache: str | Path) -> int:
    """Add all rows of `file` to a cache in one transaction. Return the number of rows in `file`."""
    rows = list(rows_in(file))  # a damaged file must not create a cache
    with closing(Cache(cache)) as target:
        target.put(*rows)
    return len(rows)


def rows_in(path: str | Path) -> Iterator[CacheRow]:
    """Yield the rows of a cache or an exported file. Raises UserError for any other file."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"There is no file '{file}'. Choose a cache or an exported file.")
    if file.suffix not in _EXPORTS:
        with closing(Cache(file, reading=True)) as cache:
            yield from cache.rows()
        return
    number = 1
    try:
        with _open(file, "rt") as lines:
            if next(lines, "").strip() != json.dumps(FORMAT):
                raise UserError(
                    f"{file} is not an exported cache, because its first line is not "
                    f"{json.dumps(FORMAT)}. A file of batch replies needs the field custom_id."
                )
            for number, line in enumerate(lines, 2):  # noqa: B007 - named in the error
                yield _ROW.validate_json(line)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise UserError(f"{file}, line {number}: {reason}. Is the file incomplete?") from None


def _open(file: Path, mode: str) -> IO[str]:
    opened = gzip.open if file.suffix == ".gz" else open
    return cast(IO[str], opened(file, mode, encoding="utf-8"))
