"""Scores against an axis: curves with bands, and the Pareto front of scores against tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    from matplotlib.axes import Axes
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

    def draw(axes: Axes) -> None:
        for place, (name, unordered) in enumerate(_by_series(marks).items()):
            series = sorted(unordered, key=lambda mark: (mark.x, mark.mean))
            xs, means = [mark.x for mark in series], [mark.mean for mark in series]
            lows, highs = [mark.low for mark in series], [mark.high for mark in series]
            axes.plot(xs, means, color=colour(place), marker=marker(place),
                      linestyle=line_style(place), markeredgecolor="black", markeredgewidth=0.4,
                      label=plain(name))  # fmt: skip
            if len(series) > 1:
                axes.fill_between(xs, lows, highs, color=colour(place), alpha=0.15, linewidth=0)
            else:
                axes.vlines(xs, lows, highs, color=colour(place), linewidth=0.8)

    _plot(path, marks, x, y, span, draw)


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

    def draw(axes: Axes) -> None:
        steps = front(marks)
        axes.step([mark.x for mark in steps], [mark.mean for mark in steps], where="post",
                  color="0.5", linewidth=0.8, linestyle="--", zorder=1)  # fmt: skip
        for place, (name, series) in enumerate(_by_series(marks).items()):
            below = [max(mark.mean - mark.low, 0.0) for mark in series]
            above = [max(mark.high - mark.mean, 0.0) for mark in series]
            axes.errorbar([mark.x for mark in series], [mark.mean for mark in series],
                          yerr=[below, above], fmt=marker(place), color=colour(place),
                          markeredgecolor="black", markeredgewidth=0.4, elinewidth=0.7,
                          capsize=1.5, label=plain(name))  # fmt: skip

    _plot(path, marks, x, y, span, draw)


def _by_series(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    series: dict[str, list[Mark]] = {}
    for mark in marks:
        series.setdefault(mark.series, []).append(mark)
    return series


def _plot(
    path: Path, marks: Sequence[Mark], x: str, y: str, span: int, draw: Callable[[Axes], None]
) -> None:
    def draw_figure(figure: Figure) -> None:
        axes = figure.add_subplot()
        draw(axes)
        axes.set_xlabel(plain(x))
        axes.set_ylabel(plain(y))
        legend_below(figure, span)

    height = (60.0 if span == 1 else 80.0) + legend_height(list(_by_series(marks)), span)
    save(path, draw_figure, span=span, height=height)
