"""Curves with bands: a line for each method through its means, shaded between the interval ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.report.figures.paper import (
    colour,
    legend_below,
    legend_height,
    line_style,
    marker,
    plain,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def plot_lines(path: Path, marks: Sequence[Mark], x: str, y: str, *, span: int = 1) -> None:
    """Write a line for each series in the order of x, with its intervals as a band.

    Series follow the order in which they come first, each with a colour, a marker and dashes of its
    own. A series of one point is a marker with its interval.
    """
    series = list(dict.fromkeys(mark.series for mark in marks))

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for place, name in enumerate(series):
            held = sorted((m for m in marks if m.series == name), key=lambda m: (m.x, m.mean))
            xs, means = [m.x for m in held], [m.mean for m in held]
            lows, highs = [m.low for m in held], [m.high for m in held]
            axes.plot(
                xs,
                means,
                color=colour(place),
                marker=marker(place),
                linestyle=line_style(place),
                markeredgecolor="black",
                markeredgewidth=0.4,
                label=plain(name),
            )
            if len(held) > 1:
                axes.fill_between(xs, lows, highs, color=colour(place), alpha=0.15, linewidth=0)
            else:
                axes.vlines(xs, lows, highs, color=colour(place), linewidth=0.8)
        axes.set_xlabel(plain(x))
        axes.set_ylabel(plain(y))
        legend_below(figure, span)

    height = (60.0 if span == 1 else 80.0) + legend_height(series, span)
    save(path, draw, span=span, height=height)
