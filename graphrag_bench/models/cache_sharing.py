"""Replies counted, written to a file that can be shared, and read from one."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, Literal

from graphrag_bench.errors import UserError
from graphrag_bench.models.reply_store import VERDICTS, ReplyStore, StoredReply

FORMAT = "graphrag-bench replies"
VERSION = 1
_SQLITE = b"SQLite format 3\x00"
_FIELDS = {field.name: field.type for field in fields(StoredReply)}


@dataclass(frozen=True)
class CacheStats:
    """What a store holds for one model: replies by verdict, their tokens and their price."""

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
    for row in replies_in(path):
        verdicts.setdefault(row.identity, Counter())[row.verdict] += 1
        total = totals.setdefault(row.identity, [0, 0, 0, 0.0])
        total[0] += row.finish == "length"
        total[1] += row.prompt_tokens
        total[2] += row.completion_tokens
        total[3] += row.usd
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


def export_replies(store: str | Path, file: str | Path, identity: str | None = None) -> int:
    """The number of replies written to `file` (JSON lines; compressed when it ends in .gz).

    The file appears whole or not at all. `identity` picks the replies of one model.
    """
    path = Path(file)
    part = path.with_name(path.name + ".part")
    n_written = 0
    with _opened(part, "wt", zipped=path.suffix == ".gz") as out:
        out.write(json.dumps({"format": FORMAT, "version": VERSION}) + "\n")
        for row in replies_in(store):
            if identity is None or row.identity == identity:
                out.write(json.dumps(_written(row), ensure_ascii=False) + "\n")
                n_written += 1
    os.replace(part, path)
    return n_written


def import_replies(file: str | Path, store: str | Path) -> int:
    """The number of replies put into `store`; readable replies that are there already stay."""
    target = ReplyStore(store)
    try:
        return target.add(replies_in(file))
    finally:
        target.close()


def replies_in(path: str | Path) -> Iterator[StoredReply]:
    """The replies of a store or of an exported file; raises UserError when it is neither."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"There are no replies at '{file}': the file does not exist.")
    with file.open("rb") as opened:
        begins = opened.read(16)
    if begins == _SQLITE:
        store = ReplyStore(file)
        yield from store.rows()
        store.close()
        return
    yield from _exported(file, zipped=begins[:2] == b"\x1f\x8b")


def _exported(file: Path, *, zipped: bool) -> Iterator[StoredReply]:
    with _opened(file, "rt", zipped=zipped) as lines:
        for number, text in enumerate(lines, 1):
            try:
                row = json.loads(text)
            except ValueError:
                raise UserError(f"{file}, line {number}: no JSON. Was the file cut?") from None
            if number > 1:
                yield _read(row, f"{file}, line {number}")
            elif not isinstance(row, dict) or row.get("format") != FORMAT:
                raise UserError(f"{file} holds no replies: its first line names another format.")
            elif row.get("version") != VERSION:
                raise UserError(f"{file} has version {row.get('version')}; known is {VERSION}.")


def _opened(file: Path, mode: Literal["rt", "wt"], *, zipped: bool) -> IO[str]:
    if zipped:
        return gzip.open(file, mode, encoding="utf-8")
    return file.open(mode, encoding="utf-8")


def _written(row: StoredReply) -> dict[str, Any]:
    return {**asdict(row), "prompt": base64.b64encode(row.prompt).decode()}


def _read(row: object, where: str) -> StoredReply:
    """A row whose fields have been checked: the file comes from someone else."""
    if not isinstance(row, dict) or set(row) != set(_FIELDS):
        raise UserError(f"{where}: the fields are not those of a reply.")
    kinds: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float)}
    for name, kind in _FIELDS.items():
        if not isinstance(row[name], kinds.get(str(kind), str)):
            raise UserError(f"{where}: {name} is no {kind}.")
    if row["verdict"] not in VERDICTS:
        raise UserError(f"{where}: no verdict '{row['verdict']}'.")
    return StoredReply(**{**row, "prompt": base64.b64decode(row["prompt"])})
