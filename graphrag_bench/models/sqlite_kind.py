"""Whether a SQLite file is ours: by its header, without changing another program's file.

SQLite reads the header: whoever opens a file and closes it loses all locks that the process has on
it (POSIX), and another process then takes the log away from under its connections.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from graphrag_bench.errors import UserError

APPLICATION = 0x47524247
"""`GRBG`, in the header of every file of ours since it has one."""
_APPLICATION_ID = "PRAGMA application_id"
_UNCHANGING = "mode=ro&immutable=1"
"""SQLite takes no lock, makes no file, and reads no log."""


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as those of SQLite do; False for an empty one and for a folder.

    Raises UserError where it cannot be read.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return False
    try:
        return _application(path) is not None
    except sqlite3.Error as error:
        raise UserError(f"The cache {path} cannot be opened: {error}.") from None


def check_ours(path: Path, columns: tuple[str, ...], table: str) -> None:
    """Raise UserError for a file that is not ours; nothing is written, not even next to it.

    Ours are those with our application id, those of earlier versions, which have our table with our
    columns, and empty ones.
    """
    if path.is_file() and path.stat().st_size == 0:
        return
    try:
        application = _application(path)
        if application == APPLICATION:
            return
        if application == 0:
            with closing(reading(path)) as connection:
                empty = not _tables(connection)
                known = set(columns) <= columns_of(connection, table)
            if empty or known:
                return
    except sqlite3.Error as error:
        raise UserError(f"The cache {path} cannot be opened: {error}.") from None
    if application is None:
        raise UserError(f"The cache {path} cannot be opened: it is not a SQLite file.")
    raise UserError(
        f"'{path}' is a SQLite file of another program and is left as it is. Name a file of "
        "replies, or one that does not exist yet."
    )


def _application(path: Path) -> int | None:
    """The application id of a SQLite file, None for another file; raises sqlite3.Error.

    A file whose process was killed while it took the log over is whole with its log alone.
    """
    try:
        with closing(_connected(path, _UNCHANGING, _APPLICATION_ID)) as connection:
            return int(connection.execute(_APPLICATION_ID).fetchone()[0])
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return None
    with closing(reading(path)) as connection:
        return int(connection.execute(_APPLICATION_ID).fetchone()[0])


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none where there is no such table."""
    quoted = '"' + table.replace('"', '""') + '"'
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({quoted})")}


def _tables(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return [str(name) for (name,) in connection.execute(query)]


def reading(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, on a read-only disk too; raises sqlite3.Error.

    Where the file has no lock file and no log it is not being written to by us: SQLite is told that
    it does not change, and makes no file next to it. That is also the way on a read-only disk.
    """
    log = Path(f"{path}-wal")
    logged = log.is_file() and log.stat().st_size > 0
    used = logged or Path(f"{path}.lock").exists() or Path(f"{path}-journal").exists()
    try:
        return _connected(path, "mode=ro" if used else _UNCHANGING)
    except sqlite3.OperationalError as error:
        if logged:
            said = f"{error}; {log.name} holds what was written last and cannot be read here"
            raise sqlite3.OperationalError(said) from None
        return _connected(path, _UNCHANGING)


def _connected(
    path: Path, how: str, first: str = "SELECT count(*) FROM sqlite_master"
) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?{how}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute(first).fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
