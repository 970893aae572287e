"""Replies and vectors counted, exported to a file that can be shared, and imported from one."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, Literal

from graphrag_bench.errors import UserError
from graphrag_bench.models.reply_store import (
    VERDICTS,
    ReplyStore,
    StoredReply,
    StoredVector,
    StoredVectors,
)
from graphrag_bench.models.sqlite_kind import is_sqlite
from graphrag_bench.unpacking import opened

FORMAT = "graphrag-bench replies"
VERSION = 1
VECTORS = "vectors"
_GZIP = b"\x1f\x8b"
_KINDS: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float)}
Row = StoredReply | StoredVector | StoredVectors


@dataclass(frozen=True)
class CacheStats:
    """What a store holds for one model: replies by verdict, their tokens and their price.

    Vectors are counted as if `vectors` were a verdict.
    """

    identity: str
    verdicts: tuple[tuple[str, int], ...]
    truncated: int
    prompt_tokens: int
    completion_tokens: int
    usd: float


def cache_stats(path: str | Path) -> list[CacheStats]:
    """One row for each model in the file, sorted by its identity."""
    verdicts: dict[str, Counter[str]] = {}
    totals: dict[str, list[float]] = {}
    for row in rows_in(path):
        counted = verdicts.setdefault(row.identity, Counter())
        total = totals.setdefault(row.identity, [0, 0, 0, 0.0])
        total[1] += row.prompt_tokens
        total[3] += row.usd
        if isinstance(row, StoredReply):
            counted[row.verdict] += 1
            total[0] += row.finish == "length"
            total[2] += row.completion_tokens
        else:
            counted[VECTORS] += 1
    return [
        CacheStats(
            identity,
            tuple(sorted(verdicts[identity].items())),
            int(total[0]),
            int(total[1]),
            int(total[2]),
            total[3],
        )
        for identity, total in sorted(totals.items())
    ]


def export_replies(
    store: str | Path,
    file: str | Path,
    identity: str | None = None,
    keys: Collection[str] | None = None,
) -> int:
    """The number of rows written to `file` (JSON lines; compressed when it ends in .gz).

    A row is a reply or a vector. The file appears whole or not at all. `identity` picks
    the rows of one model, `keys` those of calls, as ledgers name them.
    """
    path = Path(file)
    part = path.with_name(path.name + ".part")
    n_written = 0
    try:
        with _opened(part, "wt", zipped=path.suffix == ".gz") as out:
            out.write(json.dumps({"format": FORMAT, "version": VERSION}) + "\n")
            for row in rows_in(store):
                wanted = keys is None or row.key in keys
                if wanted and (identity is None or row.identity == identity):
                    out.write(json.dumps(_written(row), ensure_ascii=False) + "\n")
                    n_written += 1
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return n_written


def import_replies(file: str | Path, store: str | Path) -> int:
    """The number of rows put into `store`; what is there already, and was readable, stays.

    The file is read through before anything is stored, so that one that was cut leaves nothing.
    """
    for _ in rows_in(file):
        pass
    target = ReplyStore(store)
    try:
        n_replies = target.add(row for row in rows_in(file) if isinstance(row, StoredReply))
        vectors = (row for row in rows_in(file) if isinstance(row, StoredVector))
        blocks = (row for row in rows_in(file) if isinstance(row, StoredVectors))
        return n_replies + len(target.put_vectors(vectors)) + len(target.put_blocks(blocks))
    finally:
        target.close()


def replies_in(path: str | Path) -> Iterator[StoredReply]:
    """The replies of a store or of an exported file; raises UserError when it is neither."""
    return (row for row in rows_in(path) if isinstance(row, StoredReply))


def rows_in(path: str | Path) -> Iterator[Row]:
    """The replies of a store or of an exported file, then its vectors; raises UserError."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"There are no replies at '{file}': the file does not exist.")
    if is_sqlite(file):
        store = ReplyStore(file, reading=True)
        try:
            yield from store.rows()
            yield from store.all_vectors()
        except sqlite3.Error as error:
            raise UserError(f"The cache {file} cannot be read: {error}.") from None
        finally:
            store.close()
        return
    with file.open("rb") as begun:
        zipped = begun.read(2) == _GZIP
    yield from _exported(file, zipped=zipped)


def _exported(file: Path, *, zipped: bool) -> Iterator[Row]:
    number = 0
    for number, text in enumerate(_lines(file, zipped=zipped), 1):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise UserError(f"{file}, line {number}: no JSON. Was the file cut?") from None
        if number > 1:
            yield _read(row, f"{file}, line {number}")
        elif not isinstance(row, dict) or row.get("format") != FORMAT:
            raise UserError(f"{file} holds no replies: its first line names another format.")
        elif row.get("version") != VERSION:
            raise UserError(f"{file} has version {row.get('version')}; known is {VERSION}.")
    if number == 0:
        raise UserError(f"{file} holds no replies: it is empty.")


def _lines(file: Path, *, zipped: bool) -> Iterator[str]:
    number = 0
    try:
        with _opened(file, "rt", zipped=zipped) as opened:
            for line in opened:
                number += 1
                yield line
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        where = f"{file}, line {number + 1}"
        raise UserError(f"{where}: cannot be read ({error}). Was the file cut?") from None


def _opened(file: Path, mode: Literal["rt", "wt"], *, zipped: bool) -> IO[str]:
    if zipped and mode == "rt":
        return io.TextIOWrapper(opened(file), encoding="utf-8")
    if zipped:
        return gzip.open(file, mode, encoding="utf-8")
    return file.open(mode, encoding="utf-8")


def _written(row: Row) -> dict[str, Any]:
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in vars(row).items()
    }


def _read(row: object, where: str) -> Row:
    kinds = (StoredReply, StoredVector, StoredVectors)
    names = set(row) if isinstance(row, dict) else set()
    kind = next((kind for kind in kinds if names == {field.name for field in fields(kind)}), None)
    if kind is None or not isinstance(row, dict):
        raise UserError(f"{where}: the fields are not those of a reply.")
    values = dict(row)
    for field in fields(kind):
        if not isinstance(values[field.name], _KINDS.get(str(field.type), str)):
            raise UserError(f"{where}: {field.name} is no {field.type}.")
        if field.type == "bytes":
            try:
                values[field.name] = base64.b64decode(values[field.name], validate=True)
            except ValueError:
                raise UserError(f"{where}: {field.name} is not base64.") from None
    if values.get("verdict", VERDICTS[0]) not in VERDICTS:
        raise UserError(f"{where}: no verdict '{values['verdict']}'.")
    return kind(**values)
