"""The tables of runs that commands print: the one that fits a terminal, or all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.comparisons import Comparison, comparison_table
from graphrag_bench.report.costs import cost_table, paying_table
from graphrag_bench.report.headline import headline_table
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.tables import run_table

COLUMNS = ("main", "all")
"""The headline table alone, or every table with every column."""


def checked_columns(name: str) -> str:
    """`main` or `all`; raises UserError for another word, with the nearest of them."""
    if name not in COLUMNS:
        raise UserError(f"columns {name}: there are main and all. {did_you_mean(name, COLUMNS)}")
    return name


def shown_tables(
    runs: Sequence[Mapping[str, Any]],
    differences: Sequence[Comparison],
    *,
    columns: str = COLUMNS[0],
    metric: str | None = None,
    baseline: str = "",
) -> list[Table]:
    """The headline table of runs; with `all` columns every table that there is of them.

    `metric` is the main one, `baseline` the method that an index is to pay off against.
    """
    if columns == COLUMNS[0]:
        return [headline_table(runs, differences, metric)]
    costs = cost_table(runs)
    tables = [
        run_table(runs),
        comparison_table(differences),
        costs if costs.rows else None,
        paying_table(runs, baseline),
    ]
    return [table for table in tables if table is not None]
