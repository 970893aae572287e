"""A SQLite file that many threads and processes share, on local disks and on network ones."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, TypeVar

from filelock import FileLock

from graphrag_bench.errors import UserError
from graphrag_bench.models.outcomes import RunStopped
from graphrag_bench.models.sqlite_kind import APPLICATION, check_ours, columns_of
from graphrag_bench.models.sqlite_kind import reading as reading_connection

T = TypeVar("T")
Journal = Literal["auto", "wal", "rollback"]
Work = Callable[[sqlite3.Connection], object]
_Own = tuple[str, tuple[str, ...]]
_Job = tuple[Work, Future[object]]
_NOT_WRITABLE = (
    OverflowError, ValueError, TypeError, sqlite3.DataError, sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)  # fmt: skip
"""What the value of one row raises, and not the file."""
_BUSY_SECONDS = 120.0
_POLL_SECONDS = 0.005
_MOST_IN_ONE_COMMIT = 256
_NETWORK = ("nfs", "lustre", "gpfs", "beegfs", "cifs", "smb", "ceph", "afs", "9p", "fuse.", "pvfs")


class SqliteFile:
    """Where the file is and how it is shared.

    `wal` is SQLite's write-ahead log: fast, but it needs memory shared by all who open the file,
    which machines of a cluster do not have. `rollback` holds a lock file around each transaction
    and reopens the database for it, so that no machine reads pages of its own cache. `auto`
    takes `rollback` on network file systems.
    """

    def __init__(
        self,
        path: Path,
        create: Callable[[sqlite3.Connection], None],
        version: int,
        journal: Journal = "auto",
        *,
        own: _Own,
        reading: bool = False,
    ) -> None:
        """Make the file and its tables where they are not there yet; raises UserError.

        `create` makes the tables of a new file, and brings those of an earlier version up to date.
        `own` is the table and its columns by which a file of an earlier version is known as ours;
        a file of another program is refused. With `reading` nothing is made and nothing changed;
        `version` is then that of the file, and otherwise the one given, to which it is brought.
        """
        self.path = path
        self.version = version
        self.reading = reading
        self.here = threading.Lock()
        on_network = journal == "auto" and file_system(path.parent).startswith(_NETWORK)
        self.journal: Journal = "rollback" if on_network or journal == "rollback" else "wal"
        try:
            if path.exists():
                check_ours(path, own[1], own[0])
            if reading:
                self.journal = "wal"
                with closing(self.connect()) as connection:
                    self.version = self._known_version(connection, own) or version
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            Path(f"{path}.lock").touch()  # a lock that cannot be made is waited for
            with self.locked(), closing(self.connect()) as connection:
                self._prepare(connection, create, own)
        except (sqlite3.Error, OSError) as error:
            read_only = isinstance(error, OSError) or "readonly" in str(error)
            hint = " To read it where nothing can be written: cache.mode=read." if read_only else ""
            raise UserError(f"The cache {path} cannot be opened: {error}.{hint}") from None

    def locked(self) -> FileLock:
        """A new lock on the lock file next to the database."""
        return FileLock(
            f"{self.path}.lock",
            timeout=_BUSY_SECONDS,
            poll_interval=_POLL_SECONDS,
            thread_local=False,
        )

    def connect(self) -> sqlite3.Connection:
        """A new connection without implicit transactions; non-UTF-8 text is read as `�`."""
        if self.reading:
            connection = reading_connection(self.path)
            connection.text_factory = _text
            return connection
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = _text
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cache_size=-2000")
        return connection

    def _prepare(
        self,
        connection: sqlite3.Connection,
        create: Callable[[sqlite3.Connection], None],
        own: _Own,
    ) -> None:
        found = self._known_version(connection, own)
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            connection.execute(f"PRAGMA application_id={APPLICATION}")
        wanted = "DELETE" if self.journal == "rollback" else "WAL"
        connection.execute(f"PRAGMA journal_mode={wanted}")
        if found != self.version:
            create(connection)
            connection.execute(f"PRAGMA user_version={self.version}")

    def _known_version(self, connection: sqlite3.Connection, own: _Own) -> int:
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if found > self.version or found < 0:
            raise UserError(
                f"The cache {self.path} has version {found}; this program writes version "
                f"{self.version}. Keep it for the program that made it and name another file."
            )
        table, columns = own
        if found and not set(columns) <= columns_of(connection, table):
            raise UserError(
                f"The cache {self.path} is damaged: its table '{table}' is gone, or lacks columns. "
                "Remove the file to begin a new one, or name another."
            )
        return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


class Session:
    """One user's access to the file: a kept connection (`wal`), or one for each use."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._lock = file.locked()
        self._kept = file.connect() if file.journal == "wal" else None

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction; in `rollback` mode nobody else holds one then."""
        if self._kept is not None:
            yield self._kept
            return
        with self._file.here, self._lock, closing(self._file.connect()) as connection:
            yield connection

    def close(self) -> None:
        """Close the kept connection."""
        if self._kept is not None:
            self._kept.close()


class Commits:
    """Writes of all threads, committed together by one thread.

    Whatever waits when a transaction begins becomes part of it, so that a lone write is committed
    at once and a crowd of writes shares one commit. What may wait goes first in its transaction:
    it was asked for before the work that took it along. When the thread ends, whoever waits and
    whoever comes later is told why.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._waiting = _Waiting(file.path)
        thread = threading.Thread(
            target=_commit_all, args=(self._waiting, Session(file)), name="commits", daemon=True
        )
        thread.start()
        self.close = weakref.finalize(self, _finish, self._waiting, thread)

    def submit(self, work: Work, *, may_wait: bool = False) -> Future[object]:
        """What `work(connection)` will return, once it is committed.

        What `may_wait` is committed together with the next work that may not, at the latest by
        `close`. Raises RunStopped when nothing is committed any more.
        """
        future: Future[object] = Future()
        self._waiting.put((work, future), may_wait)
        return future


class _Waiting:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.idle: SimpleQueue[_Job] = SimpleQueue()
        self.batch: list[_Job] = []
        self._ended = ""
        self._lock = threading.Lock()

    def put(self, job: _Job, may_wait: bool) -> None:
        with self._lock:
            if self._ended:
                raise RunStopped(self._ended)
            (self.idle if may_wait else self.jobs).put(job)

    def __enter__(self) -> None:
        """The thread is at work."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        with self._lock:
            self._ended = f"The cache {self.path} was closed and is still written to."
            if error is not None:
                self._ended = f"The cache {self.path} is written no more: {kind_and_text(error)}."
            left = [*self.batch, *_taken(self.idle, None), *_taken(self.jobs, None)]
        for _, future in (job for job in left if job is not None):
            if not future.done():
                future.set_exception(RunStopped(self._ended))
        return True


def kind_and_text(error: BaseException) -> str:
    """An error in a few words."""
    return f"{type(error).__name__}: {error}"


def file_system(folder: Path) -> str:
    """The type of the file system that holds a folder, e.g. `ext4`, `nfs4`; "" where unknown."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    there = str(folder.resolve())
    best = ("", "")
    for mount in mounts:
        point, kind = mount.split()[1:3]
        inside = there == point or there.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _commit_all(waiting: _Waiting, session: Session) -> None:
    going = True
    with waiting:
        while going:
            jobs = [waiting.jobs.get(), *_taken(waiting.jobs, _MOST_IN_ONE_COMMIT)]
            going = None not in jobs
            urgent = [job for job in jobs if job is not None]
            waiting.batch = [*_taken(waiting.idle, None), *urgent]
            if waiting.batch:
                _commit(waiting.batch, session, waiting.path)
        session.close()


def _taken(jobs: SimpleQueue[T], most: int | None) -> list[T]:
    found: list[T] = []
    while most is None or len(found) < most:
        try:
            found.append(jobs.get_nowait())
        except Empty:
            break
    return found


def _commit(batch: list[_Job], session: Session, path: Path) -> None:
    """One transaction; when it fails, everybody who waits for it is told.

    Where it fails because of what one of them writes, that one alone is told.
    """
    try:
        found = _transaction(batch, session)
    except _NOT_WRITABLE as error:
        if len(batch) > 1:
            for job in batch:
                _commit([job], session, path)
            return
        said = f"The cache {path} cannot hold a value ({kind_and_text(error)})."
        batch[0][1].set_exception(RunStopped(said))
        return
    except (sqlite3.Error, OSError) as error:
        stop = RunStopped(f"The cache {path} cannot be written: {error}.")
        for _, future in batch:
            future.set_exception(stop)
        return
    for (_, future), value in zip(batch, found, strict=True):
        future.set_result(value)


def _transaction(batch: list[_Job], session: Session) -> list[object]:
    with session.connection() as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = [work(connection) for work, _ in batch]
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    return found


def _finish(waiting: _Waiting, thread: threading.Thread) -> None:
    waiting.jobs.put(None)
    thread.join()
