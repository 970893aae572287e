"""Bars with intervals: a group for each row, a bar in it for each series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.report.figures.paper import (
    colour,
    hatch,
    legend_below,
    legend_height,
    plain,
    save,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Bar:
    """A mean with the ends of its interval, of a group and of a series within it.

    `low` and `high` are the mean itself where there is no interval.
    """

    group: str
    series: str
    mean: float
    low: float
    high: float


def plot_bars(path: Path, bars: Sequence[Bar], label: str, *, span: int = 1) -> None:
    """Write horizontal bars with intervals, the first group on top, and `label` above them all.

    Groups and series follow the order in which they come first. A group that lacks a series has no
    bar there. The height grows with the number of bars.
    """
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    labels = [wrapped(name, span) for name in groups]
    n_lines = max(label.count("\n") + 1 for label in labels)
    thickest = 2.0 + 3.5 * max(len(series), n_lines)
    height = 14.0 + len(groups) * thickest + legend_height(series, span)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        thick = 0.8 / len(series)
        for place, name in enumerate(series):
            shown = [bar for bar in bars if bar.series == name]
            shift = (place - (len(series) - 1) / 2) * thick
            below = [max(bar.mean - bar.low, 0.0) for bar in shown]
            above = [max(bar.high - bar.mean, 0.0) for bar in shown]
            axes.barh([groups.index(bar.group) + shift for bar in shown],
                      [bar.mean for bar in shown], thick, xerr=[below, above],
                      label=plain(name), color=colour(place), hatch=hatch(place),
                      edgecolor="black", linewidth=0.5,
                      error_kw={"elinewidth": 0.8, "capsize": 1.5, "ecolor": "black"})  # fmt: skip
        axes.set_yticks(range(len(groups)), labels)
        axes.invert_yaxis()
        figure.suptitle(plain(label), fontsize=8)
        legend_below(figure, span)

    save(path, draw, span=span, height=height)
