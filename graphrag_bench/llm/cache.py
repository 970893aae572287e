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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, TypeVar, cast, get_args
from urllib.parse import quote

from pydantic import ConfigDict, TypeAdapter, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RunStopped

Mode = Literal["off", "read", "write", "refresh"]
Verdict = Literal["new", "valid", "corrected", "unreadable", "failed"]
VERDICTS = get_args(Verdict)
VECTORS = "vectors"
KEY_DIGITS = 32
VERSION = 4
APPLICATION = 0x47524247
"""`GRBG`, in the header of every file of ours."""
FORMAT = {"format": "graphrag-bench replies", "version": 1}
"""The first line of an exported file."""
_EXPORTS = (".jsonl", ".gz")
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
        return self.verdict in ("new", "valid", "corrected")

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
_ROW: TypeAdapter[Row] = TypeAdapter(Row)
_EARLIER: Mapping[str, type[Any]] = {
    "replies": StoredReply, "vectors": StoredVector, "readings": StoredReading,
}  # fmt: skip
"""The tables of versions up to 3; a field of a row was a column."""
_KINDS: Mapping[str, type[Any]] = {kind.KIND: kind for kind in _EARLIER.values()}


class Cache:
    """A file of replies, vectors and readings; with `reading` it is neither made nor changed.

    A file of an earlier version is read as it is, and becomes one of this version when it is opened
    to be written to. Raises UserError for a file of another program or of a later version, and
    where nothing can be written.
    """

    def __init__(self, path: str | Path, *, reading: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        address = f"file:{quote(str(self.path.resolve()))}?mode={'ro' if reading else 'rwc'}"
        if reading and not os.access(self.path.parent, os.W_OK):
            address += "&immutable=1"  # SQLite can make no log there, and nobody writes
        try:
            if not reading:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                address, _BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
            )
            with ExitStack() as unprepared:
                unprepared.callback(self._connection.close)
                self._prepare(reading)
                unprepared.pop_all()
        except (sqlite3.Error, OSError) as error:
            hint = "" if reading else " To read it where nothing can be written: cache.mode=read."
            raise UserError(f"The cache {path} cannot be opened: {error}.{hint}") from None

    def _prepare(self, reading: bool) -> None:
        query = self._connection.execute
        tables = {name for (name,) in query("SELECT name FROM sqlite_master WHERE type = 'table'")}
        version = int(query("PRAGMA user_version").fetchone()[0])
        ours = query("PRAGMA application_id").fetchone()[0] == APPLICATION
        if version > VERSION or (tables and not ours and not tables & {"cache", *_EARLIER}):
            raise UserError(
                f"'{self.path}' is a SQLite file of another program, or of another version of this "
                f"one ({version}; this one writes {VERSION}), and is left as it is. Name another."
            )
        earlier = {name: _as_rows(name) for name in _EARLIER if name in tables}
        if reading:
            if version < VERSION:
                parts = [*earlier.values(), "SELECT '', '', '', x'', '' WHERE 0"]
                query(f"CREATE TEMP VIEW cache ({_COLUMNS}) AS {' UNION ALL '.join(parts)}")
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
        for tries in reversed(range(_TRIES)):
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if not tries:
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
                rows = self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise RunStopped(f"The cache {self.path} cannot be read: {error}.") from None
        return [_row(*columns) for columns in rows]

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
            return cast(StoredReply, self._put(reply, replace=replace))

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
            return sum(bool(self._put(row, replace=replace)) for row in rows)

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


def _as_rows(table: str) -> str:
    """Return the query for the rows of an earlier table."""
    kind = _EARLIER[table]
    names = {field.name for field in fields(kind)} - {"key", "identity", kind.VALUE}
    more = ", ".join(f"'{name}', {name}" for name in sorted(names))
    return f"SELECT '{kind.KIND}', key, identity, {kind.VALUE}, json_object({more}) FROM {table}"


def _row(kind: str, key: str, identity: str, value: bytes, more: str) -> Any:
    row_type = _KINDS[kind]
    return row_type(key=key, identity=identity, **{row_type.VALUE: value}, **json.loads(more))


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


@dataclass
class CacheStats:
    """What a cache holds of one model: replies by verdict, their tokens and their price.

    Vectors are counted as if `vectors` were a verdict.
    """

    identity: str
    verdicts: Counter[str] = field(default_factory=Counter)
    truncated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


def cache_stats(path: str | Path) -> list[CacheStats]:
    """Return one row for each model in a cache or an exported file, sorted by its identity."""
    models: dict[str, CacheStats] = {}
    for row in rows_in(path):
        if isinstance(row, StoredReading):
            continue
        stats = models.setdefault(row.identity, CacheStats(row.identity))
        stats.prompt_tokens += row.prompt_tokens
        stats.usd += row.usd
        stats.verdicts[getattr(row, "verdict", VECTORS)] += 1
        stats.truncated += getattr(row, "finish", "") == "length"
        stats.completion_tokens += getattr(row, "completion_tokens", 0)
    return [stats for _, stats in sorted(models.items())]


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
                values = vars(row) | {row.VALUE: base64.b64encode(vars(row)[row.VALUE]).decode()}
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
    for _ in rows_in(file):  # a file that is cut shall not make a cache
        pass
    with closing(Cache(cache)) as target:
        return target.put_all(rows_in(file))


def rows_in(path: str | Path) -> Iterator[Row]:
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
