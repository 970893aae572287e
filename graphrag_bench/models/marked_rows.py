"""Rows of a SQLite table, each with a mark: a hash of what was written, checked when it is read."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from graphrag_bench.errors import UserError
from graphrag_bench.models.sqlite_kind import columns_of
from graphrag_bench.progress import Progress
from graphrag_bench.text import encodable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
Read = Callable[[str, Sequence[str]], list[tuple[object, ...]]]
"""The rows that a query finds for some values."""
MARK = "mark"
_MOST_VALUES = 500
_TYPES: Mapping[str, tuple[str, type]] = {
    "bytes": ("BLOB", bytes), "str": ("TEXT", str), "int": ("INTEGER", int),
    "float": ("REAL", float),
}  # fmt: skip
"""The types of a field in the file and in the program."""


class MarkedRows(Generic[R]):
    """One table: its columns are the fields of a dataclass, `key` first, and the mark of the row.

    A row that was changed after it was written is left out; standard error names the first one.
    A row without a mark, of a file of an earlier version, is taken as it is.
    """

    def __init__(self, path: Path, kind: type[R], table: str, *, marked: bool = True) -> None:
        self._path = path
        self._kind = kind
        self._types = [_TYPES[str(field.type)][1] for field in fields(kind)]
        self._told = False
        names = [field.name for field in fields(kind)]
        mark = MARK if marked else "''"
        self._select = f"SELECT {', '.join([*names, mark])} FROM {table}"
        places = ", ".join("?" * (len(names) + 1))
        self._into = f"INTO {table} ({', '.join([*names, MARK])}) VALUES ({places})"

    def get(self, read: Read, key: str) -> R | None:
        """The row of a key; None when there is none that is whole."""
        found = read(f"{self._select} WHERE key = ?", [key])
        return self._whole(found[0]) if found else None

    def some(self, read: Read, keys: Sequence[str]) -> Iterator[R]:
        """The rows of some keys that are whole, in no order."""
        for start in range(0, len(keys), _MOST_VALUES):
            part = keys[start : start + _MOST_VALUES]
            places = ", ".join("?" * len(part))
            found = read(f"{self._select} WHERE key IN ({places})", part)
            yield from (row for values in found if (row := self._whole(values)) is not None)

    def held(self, connection: sqlite3.Connection, key: str) -> R | None:
        """The row of a key, as `get` gives it, within a transaction."""
        return self.get(lambda query, keys: connection.execute(query, keys).fetchall(), key)

    def all(self, read: Read, n_at_once: int) -> Iterator[R]:
        """All rows that are whole, in the order of their keys, read `n_at_once` at a time."""
        query = f"{self._select} WHERE key > ? ORDER BY key LIMIT {n_at_once}"
        last = ""
        while portion := read(query, [last]):
            yield from (row for values in portion if (row := self._whole(values)) is not None)
            before, last = last, str(portion[-1][0])
            if last <= before:
                raise UserError(f"The cache {self._path} is damaged: its keys are out of order.")

    def put(self, connection: sqlite3.Connection, row: R, gives_way: Callable[[R], bool]) -> R:
        """The row that is in the table now: this one, or the one that was there and stays.

        What was there stays when it is whole and does not give way.
        """
        values = _written(row)
        values.append(_mark(values))
        if connection.execute(f"INSERT {self._into} ON CONFLICT (key) DO NOTHING", values).rowcount:
            return row
        held = self.held(connection, str(values[0]))
        if held is not None and not gives_way(held):
            return held
        connection.execute(f"REPLACE {self._into}", values)
        return row

    def _whole(self, values: Sequence[object]) -> R | None:
        *held, mark = values
        if mark == _mark(held) or (mark == "" and self._fits(held)):
            return self._kind(*held)
        if not self._told:
            self._told = True
            Progress().say(
                f"! The cache {self._path} is damaged: the row {held[0]} was changed after it was "
                "written. Such rows are left out, and asked for again where a run needs them."
            )
        return None

    def _fits(self, values: Sequence[object]) -> bool:
        return all(map(isinstance, values, self._types))


def create(connection: sqlite3.Connection, kind: type[DataclassInstance], table: str) -> None:
    """Make a table where it is not there, and give it the column of marks where it has none."""
    held = ", ".join(
        f"{field.name} {_TYPES[str(field.type)][0]} NOT NULL" for field in fields(kind)
    )
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({held}, PRIMARY KEY (key))")
    if MARK not in columns_of(connection, table):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN {MARK} TEXT NOT NULL DEFAULT ''")


def _mark(values: Sequence[object]) -> str:
    told = [f"{len(value)} bytes" if isinstance(value, bytes) else value for value in values]
    found = hashlib.sha256(repr(told).encode())
    for value in values:
        if isinstance(value, bytes):
            found.update(value)
    return found.hexdigest()[:16]


def _written(row: DataclassInstance) -> list[object]:
    held = zip(fields(row), vars(row).values(), strict=True)
    return [
        encodable(value) if isinstance(value, str)
        else float(value) + 0.0 if field.type == "float"  # there is no -0.0 in the file
        else value
        for field, value in held
    ]  # fmt: skip
