"""Sheets for people: CSV whose cells no spreadsheet takes for a formula, written and read back."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.runs.folder import write_whole

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """The text with an apostrophe before a sign that would begin a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return text[1:] if _GUARDED.match(text) else text


def write_sheet(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a CSV file whole, every cell guarded, with a mark by which Excel reads it as UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([guarded(head) for head in heads])
    writer.writerows([[guarded(cell) for cell in row] for row in rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "\ufeff" + out.getvalue())


def read_sheet(path: Path, heads: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a sheet by head, unguarded; commas, semicolons or tabs between the cells.

    Raises UserError when the file is missing, no UTF-8, or lacks a column.
    """
    if not path.is_file():
        raise UserError(f"There is no sheet '{path}'.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save it as CSV UTF-8.") from None
    line = text.partition("\n")[0]
    delimiter = max(",;\t", key=line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [[unguarded(cell) for cell in row] for row in reader if any(row)]
    names = [name.strip() for name in rows[0]] if rows else []
    for head in heads:
        if head not in names:
            hint = did_you_mean(head, names)
            raise UserError(f"{path}: there is no column '{head}'. {hint}")
    return [
        dict(zip(names, [*row, *[""] * (len(names) - len(row))], strict=False)) for row in rows[1:]
    ]
