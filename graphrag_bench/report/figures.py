r"""Curves as files for a paper: lines with their intervals, the same bytes for the same curve.

A figure spans one column (85 mm) or two (175 mm), in 8 pt text. Colours are those of Okabe and Ito
(2008), which colour-blind readers can tell apart; markers and dashes tell series apart in print
without colours. Text in a PDF stays text (TrueType, font type 42). No file holds a date or the
version of what wrote it. Texts are drawn letter by letter: `$` and `\` begin no formula.
"""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.rows import grouped
from graphrag_bench.terminal import clean_line

WIDTHS = {1: 85.0, 2: 175.0}
"""Millimetres of a figure over one column and over two."""
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")
_SIGN = 1.6
"""Millimetres of a character at 8 pt."""
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
    "axes.linewidth": 0.6, "lines.linewidth": 1.0, "lines.markersize": 4,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "axes.unicode_minus": True,
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A mean with the ends of its interval at a place on the x axis, of a series."""

    series: str
    x: float
    mean: float
    low: float
    high: float


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


def plain(text: str, most: int = 60) -> str:
    """Return a label on one line, without control or invisible characters; cut if long."""
    line = clean_line(text).replace("\r", " ")
    return line if len(line) <= most else line[: most - 1] + "…"


def plot_lines(path: Path, marks: Sequence[Mark], x: str, y: str, *, span: int = 1) -> None:
    """Write a line for each series in the order of x, with its intervals as a band.

    Series follow the order in which they come first, each with a colour, a marker and dashes of its
    own. A series of one point is a marker with its interval. A legend of several series stands
    below the axes.
    """
    check_plot(path, span)
    import matplotlib
    from matplotlib.figure import Figure

    by_series = grouped(marks, lambda mark: mark.series)
    room = int(WIDTHS[span] / (_SIGN * (max(map(len, by_series), default=0) + 6)))
    columns = max(1, min(room, len(by_series)))
    height = 40.0 + 20.0 * span
    if len(by_series) > 1:
        height += 4.0 * -(-len(by_series) // columns) + 2.0
    ending, content = path.suffix.lower(), io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a box is drawn for it
        figure = Figure(figsize=(WIDTHS[span] / _MM, height / _MM), layout="constrained")
        axes = figure.add_subplot()
        for place, (name, unordered) in enumerate(by_series.items()):
            series = sorted(unordered, key=lambda mark: (mark.x, mark.mean))
            colour = _COLOURS[place % len(_COLOURS)]
            marker = _MARKERS[(place + place // len(_COLOURS)) % len(_MARKERS)]
            xs, lows, highs = zip(*((mark.x, mark.low, mark.high) for mark in series), strict=True)
            axes.plot(xs, [mark.mean for mark in series], color=colour, marker=marker,
                      linestyle=_LINES[place % len(_LINES)], markeredgecolor="black",
                      markeredgewidth=0.4, label=plain(name))  # fmt: skip
            if len(series) > 1:
                axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
            else:
                axes.vlines(xs, lows, highs, color=colour, linewidth=0.8)
        axes.set(xlabel=plain(x), ylabel=plain(y))
        if len(by_series) > 1:
            figure.legend(loc="outside lower center", ncols=columns)
        figure.savefig(content, format=ending[1:], metadata=_DATELESS[ending])
    path.write_bytes(content.getvalue())
