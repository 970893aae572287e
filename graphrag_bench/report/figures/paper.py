r"""A figure as a file for a paper: its size, its colours, and the same bytes for the same figure.

A figure spans one column (85 mm) or two (175 mm), in 8 pt text. Colours are those of Okabe and Ito
(2008), which colour-blind readers can tell apart; markers and hatches tell series apart in print
without colours. Text in a PDF stays text (TrueType, font type 42). No file holds a date or the
version of what wrote it. Texts are drawn letter by letter: `$` and `\` begin no formula.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.terminal import clean_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[["Figure"], None]
WIDTHS = {1: 85.0, 2: 175.0}
"""Millimetres of a figure over one column and over two."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oo", "++", "--")
LINES = ("-", "--", "-.", ":")
SIGN = 1.6
"""Millimetres of a character at 8 pt."""
_ENDINGS = (".pdf", ".png", ".svg")
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


def check_plot(path: Path, span: int) -> None:
    """Raise UserError for a file that no figure can be written to, and without matplotlib."""
    if path.suffix.lower() not in _ENDINGS:
        hint = did_you_mean(path.suffix, _ENDINGS, _ENDINGS)
        raise UserError(f"--plot {path}: a figure is a .pdf, .png or .svg file. {hint}")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: there is no folder '{path.parent}' to write to.")
    if span not in WIDTHS:
        raise UserError(f"--span {span}: a figure spans 1 column of a paper (85 mm) or 2 (175 mm).")
    if find_spec("matplotlib") is None:
        raise UserError("--plot needs matplotlib: pip install 'graphrag-bench[figures]'.")


def save(path: Path, draw: Draw, *, span: int, height: float) -> None:
    """Write the figure that `draw` makes, `height` in millimetres, in the format of the ending.

    The same figure gives the same bytes, whatever the settings of matplotlib on the machine.
    Raises UserError as `check_plot` does.
    """
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
        draw(figure)
        figure.savefig(content, format=ending[1:], metadata=_DATELESS[ending])
    path.write_bytes(content.getvalue())


def plain(text: str, most: int = 60) -> str:
    """Return a label on one line, without control or invisible characters; cut if long."""
    line = clean_line(text).replace("\r", " ")
    return line if len(line) <= most else line[: most - 1] + "…"


def wrapped(text: str, span: int) -> str:
    """Return a label beside the axes on several lines of at most a third of the figure's width."""
    return textwrap.fill(plain(text), int(WIDTHS[span] / 3 / SIGN))


def colour(place: int) -> str:
    """Return the colour of a series by its place; they begin again after eight."""
    return COLOURS[place % len(COLOURS)]


def marker(place: int) -> str:
    """Return the marker of a series; it differs from that of the same colour before."""
    return MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


def hatch(place: int) -> str:
    """Return the hatch of a series; it differs from that of the same colour before."""
    return HATCHES[(place + place // len(COLOURS)) % len(HATCHES)]


def line_style(place: int) -> str:
    """Return the dashes of a series; four in turn."""
    return LINES[place % len(LINES)]


def legend_below(figure: Figure, span: int) -> None:
    """Draw one legend for all axes below them, in as many columns as fit."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        columns = min(len(labels), _legend_columns(labels, span))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def legend_height(labels: list[str], span: int) -> float:
    """Return the millimetres that `legend_below` takes."""
    return 4.0 * -(-len(labels) // _legend_columns(labels, span)) + 2.0 if len(labels) > 1 else 0.0


def _legend_columns(labels: list[str], span: int) -> int:
    return max(1, int(WIDTHS[span] / (SIGN * (max(map(len, labels)) + 6))))
