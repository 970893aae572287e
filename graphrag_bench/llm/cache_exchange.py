"""What a cache holds by model, and its rows in a file that can be shared: JSON lines."""

import base64
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from pydantic import TypeAdapter, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache, Row, StoredReading, StoredReply, is_sqlite

FORMAT = {"format": "graphrag-bench replies", "version": 1}
VECTORS = "vectors"
_GZIP = b"\x1f\x8b"
_ROW: TypeAdapter[Row] = TypeAdapter(Row)


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
        one = models.setdefault(row.identity, CacheStats(row.identity))
        one.prompt_tokens += row.prompt_tokens
        one.usd += row.usd
        if isinstance(row, StoredReply):
            one.verdicts[row.verdict] += 1
            one.truncated += row.finish == "length"
            one.completion_tokens += row.completion_tokens
        else:
            one.verdicts[VECTORS] += 1
    return [one for _, one in sorted(models.items())]


def export_rows(cache: str | Path, file: str | Path, identity: str | None = None) -> int:
    """Write rows, all or those of one model, to `file` and return their number.

    The file appears whole or not at all, compressed when its name ends in .gz.
    """
    path = Path(file)
    part = path.with_name(path.name + ".part")
    count = 0
    try:
        with _opened(part, "wt", zipped=path.suffix == ".gz") as out:
            out.write(json.dumps(FORMAT) + "\n")
            for row in rows_in(cache):
                if identity is None or row.identity == identity:
                    values = {**vars(row)}
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
    for _ in rows_in(file):  # a file that is cut shall not make a cache
        pass
    with closing(Cache(cache)) as target:
        return target.put_all(rows_in(file))


def rows_in(path: str | Path) -> Iterator[Row]:
    """Yield the rows of a cache or of an exported file; raises UserError when it is neither."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"There are no replies at '{file}': the file does not exist.")
    if not is_sqlite(file):
        with file.open("rb") as opened:
            zipped = opened.read(len(_GZIP)) == _GZIP
        yield from _exported(file, zipped=zipped)
        return
    with closing(Cache(file, reading=True)) as cache:
        yield from cache.rows()


def _exported(file: Path, *, zipped: bool) -> Iterator[Row]:
    number = 0
    try:
        with _opened(file, "rt", zipped=zipped) as lines:
            for number, line in enumerate(lines, 1):
                where = f"{file}, line {number}"
                try:
                    if number > 1:
                        yield _ROW.validate_json(line)
                        continue
                    head = json.loads(line)
                except (ValidationError, ValueError, RecursionError) as error:
                    raise UserError(f"{where}: {_problem(error)}") from None
                if head != FORMAT:
                    raise UserError(f"{file} holds no replies: its first line is not {FORMAT}.")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        where = f"{file}, line {number + 1}"
        raise UserError(f"{where}: cannot be read ({error}). Was the file cut?") from None
    if number == 0:
        raise UserError(f"{file} holds no replies: it is empty.")


def _opened(file: Path, mode: str, *, zipped: bool) -> IO[str]:
    return cast(IO[str], (gzip.open if zipped else open)(file, mode, encoding="utf-8"))


def _problem(error: Exception) -> str:
    faults = error.errors() if isinstance(error, ValidationError) else []
    if not faults or faults[0]["type"] == "json_invalid":
        return "no JSON. Was the file cut?"
    places = {".".join(map(str, fault["loc"])): fault["msg"] for fault in faults}
    return f"the fields are not those of a reply ({places})."
