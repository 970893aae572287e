"""A free table as a figure: bars with intervals, or a heat map of two settings with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.free_tables.table import Layout, PivotCell, PivotRun, pivot_cells
from graphrag_bench.errors import UserError
from graphrag_bench.report.figures.bars import Bar, plot_bars
from graphrag_bench.report.figures.grid import Grid, plot_heat

KINDS = ("bars", "heat")


def plot_pivot(
    path: Path, runs: Sequence[PivotRun], layout: Layout, kind: str | None, *, span: int = 1
) -> None:
    """Write the cells of a free table as `kind`, `bars` or `heat`.

    Without a kind it is a heat map where rows and columns are numbers, two at least of each, and
    the questions are not split. Bars have a group for each row and part, a bar in it for each
    column. Raises UserError as `pivot_table` does, and for a heat map of split questions.
    """
    cells = pivot_cells(runs, layout)
    if kind == "heat" and layout.by:
        raise UserError(f"A heat map has rows and columns alone; by={layout.by} goes with bars.")
    lines, columns = ([*dict.fromkeys(found)] for found in (
        [cell.line for cell in cells], [cell.column for cell in cells]
    ))  # fmt: skip
    if kind == "heat" or (kind is None and not layout.by and _are_numbers(lines, columns)):
        held = {(cell.line, cell.column): cell.mean.mean for cell in cells}
        values = [[held.get((line, column)) for column in columns] for line in lines]
        grid = Grid(layout.value, layout.rows, layout.cols, lines, columns, values)
        plot_heat(path, grid, span=span)
    else:
        plot_bars(path, list(map(_bar, cells)), layout.value, span=span)


def _bar(cell: PivotCell) -> Bar:
    group = f"{cell.line}, {cell.part}" if cell.part else cell.line
    return Bar(group, cell.column, cell.mean.mean, cell.mean.low, cell.mean.high)


def _are_numbers(*labels: Sequence[str]) -> bool:
    try:
        return all(len({float(one) for one in names}) > 1 for names in labels)
    except ValueError:
        return False
