"""Tables of Microsoft GraphRAG's output folder, read from parquet with the columns checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean

Row = Mapping[str, Any]


def read_parquet(folder: Path, name: str, columns: Sequence[str]) -> list[Row]:
    """The rows of `<folder>/<name>.parquet`, in file order, with all columns that it has.

    Raises UserError when pyarrow is not installed, when the file cannot be read, and when one of
    `columns` is missing.
    """
    parquet = arrow("pyarrow.parquet")
    path = folder / f"{name}.parquet"
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        there = [one.stem for one in folder.glob("*.parquet")] if folder.is_dir() else []
        hint = did_you_mean(name, sorted(there), sorted(there) or ["no parquet file"])
        raise UserError(f"{path}: there is no such file. {hint}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not parquet ({str(error)[:200]}).") from None
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise UserError(
            f"{path}: the column {', '.join(missing)} is missing; it has "
            f"{', '.join(table.column_names)}. Output of graphrag 1.0 or later was expected."
        )
    rows: list[Row] = table.to_pylist()
    return rows


def has_column(folder: Path, name: str, column: str) -> bool:
    """Whether `<folder>/<name>.parquet` has a column; False for a file that is no parquet."""
    try:
        return column in arrow("pyarrow.parquet").read_schema(folder / f"{name}.parquet").names
    except (OSError, ValueError):
        return False


def arrow(module: str) -> Any:
    """A module of pyarrow; raises UserError, with what to install, when it is not there."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise UserError(
            "Parquet needs pyarrow: pip install 'graphrag-bench[interchange]'."
        ) from None


def text_of(value: Any) -> str:
    """A cell as text; "" for a missing one."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> list[str]:
    """A cell that holds a list of ids; empty for a missing one."""
    return [str(item) for item in value] if isinstance(value, list) else []
