"""Replies, vectors and readings by key, in one SQLite file that threads and processes share.

One table, `cache`: the kind of a row, its key, the identity of the model that made it, the value
as bytes, and the rest as JSON. What a call has stored is committed when it returns. Rows can be
shared as JSON lines.
"""

import base64
import gzip
import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from itertools import starmap
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, TypeVar, cast, get_args
from urllib.parse import quote
from weakref import WeakValueDictionary

from pydantic import ConfigDict, TypeAdapter, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RunStopped

Verdict = Literal["new", "valid", "corrected", "unreadable", "failed"]
VERDICTS = get_args(Verdict)
VECTORS = "vectors"
KEY_DIGITS = 32
VERSION = 4
"""Of the file; another version is refused."""
APPLICATION = 0x47524247
"""`GRBG`, in the header of every file of ours."""
FORMAT = {"format": "graphrag-bench replies", "version": 1}
"""The first line of an exported file."""
_EXPORTS = (".jsonl", ".gz")
_BUSY_SECONDS = 120.0
_TRIES, _PAUSE = 100, 0.05
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
_JUDGE = """
UPDATE cache SET more = json_set(more, '$.verdict', ?1)
WHERE kind = 'reply' AND key = ?2 AND json_extract(more, '$.verdict') != ?1
"""


_STRICT = ConfigDict(extra="forbid", strict=True, val_json_bytes="base64")


@dataclass(frozen=True, kw_only=True)
class StoredReply(Completion):
    """A reply, or the failure (`reason`, and why in `text`) that took its place.

    `verdict`: `new` (not read yet), `valid`, `corrected` (unreadable, but the reply to the
    corrective retry was not), `unreadable`, `failed`. `prompt` is the request as compressed JSON.
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
        """The reply as it is handed out again: cached, no seconds, no retries.

        Raises CallFailed when the row holds a failure.
        """
        if self.verdict == "failed":
            raise CallFailed(self.reason, self.text)
        values = {field.name: getattr(self, field.name) for field in fields(Completion)}
        return Completion(**values | {"cached": True, "seconds": 0.0, "retries": 0})


@dataclass(frozen=True)
class _Keyed:
    __pydantic_config__: ClassVar = _STRICT
    KIND: ClassVar[str]
    VALUE: ClassVar[str]

    key: str
    identity: str


@dataclass(frozen=True)
class StoredVector(_Keyed):
    """The vector of one text: float32 numbers, and what a server was paid for it."""

    KIND: ClassVar = "vector"
    VALUE: ClassVar = "numbers"

    numbers: bytes
    model: str = ""
    prompt_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True)
class StoredReading(_Keyed):
    """What a tagger found in one text, as compressed JSON."""

    KIND: ClassVar = "reading"
    VALUE: ClassVar = "found"

    found: bytes


CacheRow = StoredReply | StoredVector | StoredReading
CacheRowT = TypeVar("CacheRowT", bound=CacheRow)
_ROW: TypeAdapter[CacheRow] = TypeAdapter(CacheRow)
_KINDS: Mapping[str, type[Any]] = {
    kind.KIND: kind for kind in (StoredReply, StoredVector, StoredReading)
}


class Cache:
    """A file of replies, vectors and readings; with `reading` it is neither made nor changed.

    What is put into one that is only read is not stored, which is no error. Raises UserError for a
    file of another program or of another version, and where nothing can be written.
    """

    def __init__(self, path: str | Path, *, reading: bool = False) -> None:
        self.path = Path(path)
        self.reading = reading
        self._lock = threading.RLock()
        self._turns: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        address = f"file:{quote(str(self.path.resolve()))}?mode={'ro' if reading else 'rwc'}"
        if reading and not os.access(self.path.parent, os.W_OK):
            address += "&immutable=1"  # SQLite can make no log there, and nobody writes
        try:
            if not reading:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                address, _BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
            )
            self._prepare(reading)
        except (sqlite3.Error, OSError) as error:
            hint = "" if reading else " To read it where nothing can be written: cache.mode=read."
            raise UserError(f"The cache {path} cannot be opened: {error}.{hint}") from None

    def _prepare(self, reading: bool) -> None:
        query = self._connection.execute
        is_new = query("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        marks = tuple(
            query(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if not is_new and marks != (APPLICATION, VERSION):
            raise UserError(
                f"'{self.path}' is a SQLite file of another program, or of another version of this "
                f"one ({marks[1]}; this one writes {VERSION}), and is left as it is. Name another."
            )
        if not reading:
            self._use_log()
            query("PRAGMA synchronous=NORMAL")
            with self._connection:
                query("BEGIN IMMEDIATE")
                query(_TABLE)
                query(f"PRAGMA application_id={APPLICATION}")
                query(f"PRAGMA user_version={VERSION}")

    def _use_log(self) -> None:
        """Turn the write-ahead log on; who meets another process at it does not wait by itself."""
        for tries in reversed(range(_TRIES)):
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if not tries:
                    raise
                time.sleep(_PAUSE)

    @contextmanager
    def _used(self, how: str) -> Iterator[sqlite3.Connection]:
        """Commit what is done inside, or nothing of it; raises RunStopped where that fails."""
        try:
            with self._lock, self._connection as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise RunStopped(f"The cache {self.path} cannot be {how}: {error}.") from None

    def some(self, kind: type[CacheRowT], keys: Iterable[str]) -> dict[str, CacheRowT]:
        """Return the rows of a kind by key; keys without one are missing."""
        condition = "key IN (SELECT value FROM json_each(?))"
        with self._used("read") as connection:
            values = kind.KIND, json.dumps(list(keys))
            rows = connection.execute(f"{_SELECT} AND {condition}", values).fetchall()
        return {row.key: row for row in starmap(_row, rows)}

    def get(self, key: str) -> StoredReply | None:
        """Return the reply of a key, whatever its verdict; None when there is none."""
        return self.some(StoredReply, [key]).get(key)

    def put(self, *rows: CacheRow) -> int:
        """Store rows in one transaction and return their number; 0 where the file is only read.

        What is there already (another process was faster) stays, unless it is a reply that nobody
        could use. Raises RunStopped when the file cannot be written.
        """
        if self.reading:
            return 0
        with self._used("written") as connection:
            connection.execute("BEGIN IMMEDIATE")
            for row in rows:
                more = _written(row)
                values = row.KIND, more.pop("key"), more.pop("identity"), more.pop(row.VALUE)
                connection.execute(_PUT, (*values, json.dumps(more)))
        return len(rows)

    def judge(self, key: str, verdict: Verdict) -> None:
        """Set the verdict of a reply that is there."""
        if not self.reading:
            with self._used("written") as connection:
                connection.execute(_JUDGE, (verdict, key))

    def turn(self, key: str) -> threading.Lock:
        """Return the lock of a key, for threads that would make the same row at once."""
        with self._lock:
            return self._turns.setdefault(key, threading.Lock())

    def rows(self) -> Iterator[CacheRow]:
        """Return all replies, then all vectors and readings, each in the order of their keys."""
        with self._used("read") as connection:
            for kind in _KINDS:
                yield from starmap(_row, connection.execute(f"{_SELECT} ORDER BY key", [kind]))

    def close(self) -> None:
        """Close the file; what was stored is in it already."""
        with self._lock:
            self._connection.close()


def _written(row: CacheRow) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name != "cached"}


def _row(kind: str, key: str, identity: str, value: bytes, more: str) -> Any:
    row_type = _KINDS[kind]
    return row_type(key=key, identity=identity, **{row_type.VALUE: value}, **json.loads(more))


def vector_key(identity: str, kind: str, text: str) -> str:
    """Return the key of a vector: whatever can change it, whether it is of a question, the text."""
    return row_key(identity, kind, text)


def row_key(*parts: object) -> str:
    """Return the key of a row that is made of these parts, which JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:KEY_DIGITS]


def reply_key(identity: str, request: Request) -> tuple[str, bytes]:
    """Return the key of a call, and the request as compressed JSON.

    In the key: model identity with its decoding settings, the whole prompt, max_tokens, stop,
    schema, trial.
    """
    messages = [[message.role, message.content] for message in request.prompt]
    values = {**vars(request), "identity": identity, "messages": messages}
    del values["prompt"]
    written = json.dumps(values, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:KEY_DIGITS], zlib.compress(written, 1)


def cache_stats(path: str | Path) -> dict[str, Counter[str]]:
    """Return what a cache or an exported file holds of each model, by its identity, sorted.

    Replies by verdict, and `vectors`; of all of them tokens and `usd`, and how many were `cut`.
    """
    models: dict[str, Counter[str]] = {}
    for row in rows_in(path):
        if isinstance(row, StoredReading):
            continue
        counts = models.setdefault(row.identity, Counter())
        counts[getattr(row, "verdict", VECTORS)] += 1
        counts["cut"] += getattr(row, "finish", "") == "length"
        for name in ("prompt_tokens", "completion_tokens", "usd"):
            counts[name] += getattr(row, name, 0)
    return dict(sorted(models.items()))


def export_rows(cache: str | Path, file: str | Path) -> int:
    """Write all rows to `file` and return their number.

    The file (.jsonl, or .jsonl.gz, which is compressed) appears whole or not at all.
    """
    path, count = Path(file), 0
    if path.suffix not in _EXPORTS:
        raise UserError(f"'{path}' is no name for an export: it ends in .jsonl or .jsonl.gz.")
    part = path.with_name(f".part-{path.name}")
    try:
        with _opened(part, "wt") as out:
            out.write(json.dumps(FORMAT) + "\n")
            for row in rows_in(cache):
                values = _written(row)
                values[row.VALUE] = base64.b64encode(values[row.VALUE]).decode()
                out.write(json.dumps(values, ensure_ascii=False) + "\n")
                count += 1
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return count


def import_rows(file: str | Path, cache: str | Path) -> int:
    """Put the rows of an exported file or a cache into `cache`, and return their number.

    All of them or none; what is there already, and was readable, stays.
    """
    rows = list(rows_in(file))  # a file that is cut shall not make a cache
    with closing(Cache(cache)) as target:
        return target.put(*rows)


def rows_in(path: str | Path) -> Iterator[CacheRow]:
    """Yield the rows of a cache or of an exported file; raises UserError when it is neither."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"There are no replies at '{file}': the file does not exist.")
    if file.suffix not in _EXPORTS:
        with closing(Cache(file, reading=True)) as cache:
            yield from cache.rows()
        return
    number = 1
    try:
        with _opened(file, "rt") as lines:
            if json.loads(next(lines, "null")) != FORMAT:
                raise UserError(f"{file} holds no replies: its first line is not {FORMAT}.")
            for number, line in enumerate(lines, 2):  # noqa: B007 - for the error
                yield _ROW.validate_json(line)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        reason = next((f"{fault['loc']}: {fault['msg']}" for fault in faults), str(error))
        raise UserError(f"{file}, line {number}: {reason}. Was the file cut?") from None


def _opened(file: Path, mode: str) -> IO[str]:
    opened = gzip.open if file.suffix == ".gz" else open
    return cast(IO[str], opened(file, mode, encoding="utf-8"))
