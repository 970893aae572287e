"""A paper's table as a figure: bars of what it prints, and of ours with their intervals."""

from __future__ import annotations

from pathlib import Path

from graphrag_bench.analysis.papers.filled_cells import Cells
from graphrag_bench.analysis.papers.table import row_name
from graphrag_bench.errors import UserError
from graphrag_bench.papers.printed import PaperTable
from graphrag_bench.report.figures.bars import Bar, plot_bars


def plot_paper(path: Path, table: PaperTable, filled: Cells, *, span: int = 1) -> None:
    """Write a group for each row of which there is a figure of ours: the paper's next to ours.

    Values are in the unit of the paper. Raises UserError where there is no figure of ours.
    """
    several = len(table.datasets) > 1
    with_ours = {(cell.dataset, cell.row) for cell in table.cells if filled[cell].figure}
    bars = []
    for cell in table.cells:
        if (cell.dataset, cell.row) not in with_ours:
            continue
        where = f"{cell.dataset}: " if several else ""
        group, figure = f"{where}{row_name(table, cell.row)}", filled[cell].figure
        if cell.value is not None:
            bars.append(Bar(group, f"{cell.metric}, paper", *[cell.value] * 3))
        if figure is not None:
            low, high = (figure.value if end is None else end for end in (figure.low, figure.high))
            bars.append(Bar(group, f"{cell.metric}, ours", figure.value, low, high))
    if not bars:
        raise UserError(
            f"{table.full_name} has no figure of ours to plot; graphrag-bench table "
            f"{table.full_name} names the commands that fill it."
        )
    plot_bars(path, bars, table.shape.caption, span=span)
