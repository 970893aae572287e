"""Objects of published files, one at a time: JSON lines, JSON lists and parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from graphrag_bench.data.rows import R, read_text, shaped
from graphrag_bench.errors import UserError
from graphrag_bench.plain_json import read_json

_BATCH = 64
"""Rows of a parquet file that are held as Python objects at a time."""


def files_of(path: Path) -> list[Path]:
    """The file or folder of that name, or the files whose names match it as a pattern, sorted.

    Parquet files replace a file of another ending: `test.parquet`, or the shards
    `test-00000-of-00002-...`, next to it or in `data/`. Raises UserError when there is none.
    """
    if path.exists():
        return [path]
    if found := sorted(file for file in path.parent.glob(path.name) if file.is_file()):
        return found
    if found := _parquet_for(path):
        return found
    there = sorted(item.name for item in path.parent.glob("*"))[:8]
    raise UserError(
        f"There is no file '{path}', and no {path.stem}*.parquet next to it or in data/. "
        f"The folder holds: {', '.join(there) or 'nothing'}."
    )


def _parquet_for(path: Path) -> list[Path]:
    for folder in (path.parent, path.parent / "data"):
        whole, shards = folder / f"{path.stem}.parquet", folder.glob(f"{path.stem}-*.parquet")
        if found := [whole] if whole.is_file() else sorted(shards):
            return found
    return []


def is_there(path: Path) -> bool:
    """Whether `files_of` finds anything."""
    try:
        return bool(files_of(path))
    except UserError:
        return False


def records(path: Path, shape: type[R]) -> Iterator[tuple[str, R]]:
    """Place and checked row of every object of the files of that name.

    A file in .parquet is read in batches, one in .json as a whole (a list, one object, or lines),
    any other as JSON lines. Raises UserError, with the place, for what is not such a row.
    """
    for file in files_of(path):
        for place, content in _objects(file):
            yield place, shaped(place, content, shape)


def _objects(file: Path) -> Iterator[tuple[str, object]]:
    if file.suffix == ".parquet":
        return parquet_objects(file)
    return json_objects(file) if file.suffix == ".json" else json_line_objects(file)


def json_objects(file: Path) -> Iterator[tuple[str, object]]:
    """The items of a list, or the one object, of a JSON file; its lines where it is JSON lines."""
    try:
        content = read_json(read_text(file), str(file))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            yield from json_line_objects(file)
            return
        raise UserError(f"{file}, line {error.lineno}: not JSON ({error.msg}).") from None
    items = content if isinstance(content, list) else [content]
    for number, item in enumerate(items):
        yield f"{file}, item {number}", item


def json_line_objects(path: Path) -> Iterator[tuple[str, object]]:
    """The objects of a file of any size, one line at a time; blank lines are skipped."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            place = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield place, read_json(text, place)
            except UnicodeDecodeError as error:
                raise UserError(f"{place}: not UTF-8 (byte {error.start} of the line).") from None
            except json.JSONDecodeError as error:
                raise UserError(f"{place}: not JSON ({error.msg}).") from None


def parquet_objects(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a parquet file; raises UserError without pyarrow, and for another file."""
    parquet = pyarrow("pyarrow.parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not parquet ({str(error)[:200]}).") from None


def pyarrow(module: str) -> Any:
    """Return a module of pyarrow; raises UserError, with what to install, when it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise UserError(
            "Parquet needs pyarrow: pip install 'graphrag-bench[interchange]'."
        ) from None
