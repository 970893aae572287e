"""A SQLite file of marked rows: read in one session, written by one thread, safe under kill -9."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import cast

from graphrag_bench.errors import UserError
from graphrag_bench.models.marked_rows import MarkedRows, R
from graphrag_bench.models.outcomes import RunStopped
from graphrag_bench.models.sqlite_file import Commits, Journal, Session, SqliteFile

_AT_ONCE = 2000


class MarkedFile:
    """The file. Safe under threads, processes and kill -9: a write that returned is in it."""

    def __init__(
        self,
        path: str | Path,
        create: Callable[[sqlite3.Connection], None],
        version: int,
        journal: Journal = "auto",
        *,
        own: tuple[str, tuple[str, ...]],
        reading: bool = False,
    ) -> None:
        """Open it, or make it; raises UserError when that cannot be done, and for another's file.

        `own` is the table with the columns by which it is known. With `reading` the file must be
        there and is not changed, nor is anything made next to it: a disk that cannot be written to
        will do. Whatever writes raises RunStopped then.
        """
        self.path = Path(path)
        self.file = SqliteFile(self.path, create, version, journal, own=own, reading=reading)
        self._writer = None if reading else Commits(self.file)
        self._session = Session(self.file)
        self._reading = threading.Lock()

    def close(self) -> None:
        """Write what waits and let go of the file."""
        if self._writer is not None:
            self._writer.close()
        with self._reading:
            self._session.close()

    @property
    def _commits(self) -> Commits:
        if self._writer is None:
            raise RunStopped(f"The cache {self.path} is read, and not written to.")
        return self._writer

    def _read(self, query: str, keys: Sequence[str]) -> list[tuple[object, ...]]:
        try:
            with self._reading, self._session.connection() as connection:
                return connection.execute(query, keys).fetchall()
        except sqlite3.Error as error:
            raise UserError(f"The cache {self.path} cannot be read: {error}.") from None

    def _put_all(
        self, table: MarkedRows[R], rows: Iterable[R], gives_way: Callable[[R], bool]
    ) -> list[R]:
        left = iter(rows)
        done: list[R] = []
        while batch := list(islice(left, _AT_ONCE)):
            work = partial(_put_each, table, batch, gives_way)
            done += cast(list[R], self._commits.submit(work).result())
        return done


def _put_each(
    table: MarkedRows[R], rows: list[R], gives_way: Callable[[R], bool], into: sqlite3.Connection
) -> list[R]:
    return [table.put(into, row, gives_way) for row in rows]


def always(held: object) -> bool:
    """Every row gives way to a new one."""
    return True


def never(held: object) -> bool:
    """The row that was there first stays."""
    return False
