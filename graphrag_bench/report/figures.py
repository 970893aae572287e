r"""Figures as files for a paper: bars, lines, fronts and grids, the same bytes for the same figure.

A figure spans one column (85 mm) or two (175 mm), in 8 pt text. Colours are those of Okabe and Ito
(2008), which colour-blind readers can tell apart; markers and hatches tell series apart in print
without colours, and the map of grids (cividis) grows evenly in lightness. Text in a PDF stays text
(TrueType, font type 42). No file holds a date or the version of what wrote it. Texts are drawn
letter by letter: `$` and `\` begin no formula.
"""

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.rows import grouped
from graphrag_bench.terminal import clean_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {1: 85.0, 2: 175.0}
"""Millimetres of a figure over one column and over two."""
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oo", "++", "--")
_LINES = ("-", "--", "-.", ":")
_SIGN = 1.6
"""Millimetres of a character at 8 pt."""
_LABEL = 30
"""Characters of a label of a row or column of a grid."""
_DARK = 0.5
"""The share of the colour map below which numbers are white."""
_MM = 25.4
_DATELESS: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}
_STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"], "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8, "figure.dpi": 300,
    "savefig.dpi": 300, "pdf.fonttype": 42, "svg.hashsalt": "graphrag-bench",
    "text.usetex": False, "text.parse_math": False, "axes.formatter.use_mathtext": False,
    "axes.linewidth": 0.6, "lines.linewidth": 1.0, "lines.markersize": 4, "hatch.linewidth": 0.5,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "axes.unicode_minus": True,
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A mean with the ends of its interval (or itself), of a group and of a series within it."""

    group: str
    series: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Mark:
    """A mean with the ends of its interval at a place on the x axis, of a series.

    `reference` marks a floor or ceiling, which is shown and competes with nothing.
    """

    series: str
    x: float
    mean: float
    low: float
    high: float
    reference: bool = False


@dataclass(frozen=True)
class Grid:
    """Values by row and column, None for a cell without one.

    `rows` and `columns` label the cells, `y` and `x` name what they are, `title` what the values
    are.
    """

    title: str
    y: str
    x: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]


def check_plot(path: Path, span: int) -> None:
    """Raise UserError for a file that no figure can be written to, and without matplotlib."""
    if path.suffix.lower() not in _DATELESS:
        hint = did_you_mean(path.suffix, _DATELESS, _DATELESS)
        raise UserError(f"--plot {path}: a figure is a .pdf, .png or .svg file. {hint}")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: there is no folder '{path.parent}' to write to.")
    if span not in WIDTHS:
        raise UserError(f"--span {span}: a figure spans 1 column of a paper (85 mm) or 2 (175 mm).")
    if find_spec("matplotlib") is None:
        raise UserError("--plot needs matplotlib: pip install 'graphrag-bench[figures]'.")


@contextmanager
def _figure(path: Path, span: int, height: float) -> "Iterator[Figure]":
    check_plot(path, span)
    import matplotlib
    from matplotlib.figure import Figure

    ending = path.suffix.lower()
    content = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a box is drawn for it
        figure = Figure(figsize=(WIDTHS[span] / _MM, height / _MM), layout="constrained")
        yield figure
        figure.savefig(content, format=ending[1:], metadata=_DATELESS[ending])
    path.write_bytes(content.getvalue())


@contextmanager
def _drawing(
    path: Path, span: int, height: float, series: Sequence[str], x: str = "", y: str = ""
) -> "Iterator[Axes]":
    """Axes with a legend of several series below them."""
    columns, room = _legend(series, span)
    with _figure(path, span, height + room) as figure:
        axes = figure.add_subplot()
        yield axes
        axes.set(xlabel=plain(x), ylabel=plain(y))
        if len(series) > 1:
            figure.legend(loc="outside lower center", ncols=columns)


def plain(text: str, most: int = 60) -> str:
    """Return a label on one line, without control or invisible characters; cut if long."""
    line = clean_line(text).replace("\r", " ")
    return line if len(line) <= most else line[: most - 1] + "…"


def _nth(signs: Sequence[str], place: int) -> str:
    return signs[(place + place // len(_COLOURS)) % len(signs)]


def _legend(labels: Sequence[str], span: int) -> tuple[int, float]:
    """The columns of a legend below the axes, and its height; none for a single label."""
    room = int(WIDTHS[span] / (_SIGN * (max(map(len, labels), default=0) + 6)))
    columns = max(1, min(room, len(labels)))
    return columns, 4.0 * -(-len(labels) // columns) + 2.0 if len(labels) > 1 else 0.0


def plot_bars(path: Path, bars: Sequence[Bar], label: str, *, span: int = 1) -> None:
    """Write horizontal bars with intervals, the first group on top, and `label` above them all.

    Groups and series follow the order in which they come first. A group that lacks a series has no
    bar there. The height grows with the number of bars.
    """
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = grouped(bars, lambda bar: bar.series)
    labels = [textwrap.fill(plain(name), int(WIDTHS[span] / 3 / _SIGN)) for name in groups]
    n_lines = max(label.count("\n") + 1 for label in labels)
    height = 14.0 + len(groups) * (2.0 + 3.5 * max(len(series), n_lines))
    thick = 0.8 / len(series)
    with _drawing(path, span, height, [*series]) as axes:
        for place, (name, shown) in enumerate(series.items()):
            shift = (place - (len(series) - 1) / 2) * thick
            axes.barh([groups.index(bar.group) + shift for bar in shown],
                      [bar.mean for bar in shown], thick, xerr=_errors(shown), label=plain(name),
                      color=_COLOURS[place % len(_COLOURS)], hatch=_nth(_HATCHES, place),
                      edgecolor="black", linewidth=0.5,
                      error_kw={"elinewidth": 0.8, "capsize": 1.5, "ecolor": "black"})  # fmt: skip
        axes.set_yticks(range(len(groups)), labels)
        axes.invert_yaxis()
        axes.figure.suptitle(plain(label), fontsize=8)


def _errors(means: Sequence[Bar | Mark]) -> list[list[float]]:
    return [[max(one.mean - one.low, 0.0) for one in means],
            [max(one.high - one.mean, 0.0) for one in means]]  # fmt: skip


def plot_grid(path: Path, grid: Grid, *, span: int = 1) -> None:
    """Write a heat map, the first row on top; colours go from the least value to the largest."""
    known = [value for row in grid.values for value in row if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    reach = high - low or 1.0
    labels = [plain(name, _LABEL) for name in grid.columns]
    longest = _SIGN * max(map(len, labels))
    turned = longest > 0.7 * WIDTHS[span] / len(labels)
    height = 12.0 + (4.0 + longest if turned else 6.0) + 7.0 * len(grid.rows)
    values = [[math.nan if cell is None else cell for cell in row] for row in grid.values]
    with _figure(path, span, height) as figure:
        axes = figure.add_subplot()
        axes.pcolormesh(values, cmap="cividis", vmin=low, vmax=low + reach, edgecolors="white",
                        linewidth=0.5)  # fmt: skip
        for row, cells in enumerate(grid.values):
            for column, cell in enumerate(cells):
                dark = cell is not None and (cell - low) / reach < _DARK
                text = "–" if cell is None else f"{cell:.3f}"
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center",
                          color="white" if dark else "black")  # fmt: skip
        axes.set_xticks([n + 0.5 for n in range(len(labels))], labels, rotation=90 * turned)
        axes.set_yticks([n + 0.5 for n in range(len(grid.rows))],
                        [plain(name, _LABEL) for name in grid.rows])  # fmt: skip
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.set(title=plain(grid.title), xlabel=plain(grid.x), ylabel=plain(grid.y))
        axes.spines[:].set_visible(False)


def plot_lines(path: Path, marks: Sequence[Mark], x: str, y: str, *, span: int = 1) -> None:
    """Write a line for each series in the order of x, with its intervals as a band.

    Series follow the order in which they come first, each with a colour, a marker and dashes of its
    own. A series of one point is a marker with its interval.
    """
    by_series = grouped(marks, lambda mark: mark.series)
    with _drawing(path, span, 40.0 + 20.0 * span, [*by_series], x, y) as axes:
        for place, (name, unordered) in enumerate(by_series.items()):
            series = sorted(unordered, key=lambda mark: (mark.x, mark.mean))
            colour = _COLOURS[place % len(_COLOURS)]
            xs, lows, highs = zip(*((mark.x, mark.low, mark.high) for mark in series), strict=True)
            axes.plot(xs, [mark.mean for mark in series], color=colour,
                      marker=_nth(_MARKERS, place), linestyle=_LINES[place % len(_LINES)],
                      markeredgecolor="black", markeredgewidth=0.4, label=plain(name))  # fmt: skip
            if len(series) > 1:
                axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
            else:
                axes.vlines(xs, lows, highs, color=colour, linewidth=0.8)


def front(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks that no other one dominates, from the least x to the largest.

    One dominates another with at most its x and at least its mean, and less or more in one of them.
    Marks that are equal in both are all on the front; references are not.
    """
    best = at = float("-inf")
    marks_of_front: list[Mark] = []
    competing = [mark for mark in marks if not mark.reference]
    for mark in sorted(competing, key=lambda mark: (mark.x, -mark.mean)):
        if mark.mean > best or (mark.mean == best and mark.x == at):
            marks_of_front.append(mark)
            best, at = mark.mean, mark.x
    return marks_of_front


def plot_pareto(path: Path, marks: Sequence[Mark], x: str, y: str, *, span: int = 1) -> None:
    """Write a marker with its interval for each method, and the front as a line of steps."""
    by_series, steps = grouped(marks, lambda mark: mark.series), front(marks)
    with _drawing(path, span, 40.0 + 20.0 * span, [*by_series], x, y) as axes:
        axes.step([mark.x for mark in steps], [mark.mean for mark in steps], where="post",
                  color="0.5", linewidth=0.8, linestyle="--", zorder=1)  # fmt: skip
        for place, (name, series) in enumerate(by_series.items()):
            axes.errorbar([mark.x for mark in series], [mark.mean for mark in series],
                          yerr=_errors(series), fmt=_nth(_MARKERS, place),
                          color=_COLOURS[place % len(_COLOURS)], markeredgecolor="black",
                          markeredgewidth=0.4, elinewidth=0.7, capsize=1.5,
                          label=plain(name))  # fmt: skip
