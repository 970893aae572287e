"""Grids of numbers: a heat map of two settings, and the win matrix of a comparison.

Every cell has its number, so that the colours are read in black and white too; the colour map
(cividis) grows evenly in lightness and is made for colour-blind readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.report.figures.paper import SIGN, WIDTHS, plain, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL = 30
"""Characters of a label of a row or column."""
_DARK = 0.5
"""The share of the colour map below which numbers are white."""


@dataclass(frozen=True)
class Grid:
    """Values by row and column, None for a cell without one.

    `rows` and `columns` label the cells, `y` and `x` name what they are, `title` what the values
    are. Cells show `decimals` of them.
    """

    title: str
    y: str
    x: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    decimals: int = 3


def plot_heat(path: Path, grid: Grid, *, span: int = 1) -> None:
    """Write a heat map, the first row on top; colours go from the least value to the largest."""
    known = [value for row in grid.values for value in row if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    _plot(path, [grid], span, low, high)


def plot_wins(path: Path, grids: Sequence[Grid], *, span: int = 1) -> None:
    """Write win matrices below each other, in percent: colours go from 0 to 100."""
    _plot(path, grids, span, 0.0, 100.0)


def _plot(path: Path, grids: Sequence[Grid], span: int, low: float, high: float) -> None:
    turned = any(_is_wide(grid, span) for grid in grids)
    longest = max(len(plain(name, _LABEL)) for grid in grids for name in grid.columns)
    heads = 4.0 + SIGN * longest if turned else 6.0

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(grids), 1, squeeze=False)
        for grid, (one,) in zip(grids, axes, strict=True):
            _draw(one, grid, low, high if high > low else low + 1.0)
            if turned:
                one.tick_params(axis="x", labelrotation=90)

    height = sum(12.0 + heads + 7.0 * len(grid.rows) for grid in grids)
    save(path, draw, span=span, height=height)


def _is_wide(grid: Grid, span: int) -> bool:
    room = 0.7 * WIDTHS[span] / len(grid.columns)
    return any(SIGN * len(plain(name, _LABEL)) > room for name in grid.columns)


def _draw(axes: Axes, grid: Grid, low: float, high: float) -> None:
    values = [[math.nan if cell is None else cell for cell in row] for row in grid.values]
    axes.pcolormesh(values, cmap="cividis", vmin=low, vmax=high, edgecolors="white", linewidth=0.5)
    for row, cells in enumerate(grid.values):
        for column, cell in enumerate(cells):
            dark = cell is not None and (cell - low) / (high - low) < _DARK
            text = "–" if cell is None else f"{cell:.{grid.decimals}f}"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center",
                      color="white" if dark else "black")  # fmt: skip
    axes.set_xticks([n + 0.5 for n in range(len(grid.columns))],
                    [plain(name, _LABEL) for name in grid.columns])  # fmt: skip
    axes.set_yticks([n + 0.5 for n in range(len(grid.rows))],
                    [plain(name, _LABEL) for name in grid.rows])  # fmt: skip
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.set_title(plain(grid.title))
    axes.set_xlabel(plain(grid.x))
    axes.set_ylabel(plain(grid.y))
    for spine in axes.spines.values():
        spine.set_visible(False)
