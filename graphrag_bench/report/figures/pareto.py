"""The Pareto front: a score against the tokens it takes, and what no other method beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_bench.report.figures.lines import Mark
from graphrag_bench.report.figures.paper import (
    colour,
    legend_below,
    legend_height,
    marker,
    plain,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def front(marks: Sequence[Mark]) -> list[Mark]:
    """The marks that no other one beats, from the least x to the largest; references aside.

    One beats another with at most its x and at least its mean, and less or more in one of them.
    Marks that are equal in both are all on the front.
    """
    best = float("-inf")
    at = float("-inf")
    found: list[Mark] = []
    competing = [mark for mark in marks if not mark.reference]
    for mark in sorted(competing, key=lambda mark: (mark.x, -mark.mean)):
        if mark.mean > best or (mark.mean == best and mark.x == at):
            found.append(mark)
            best, at = mark.mean, mark.x
    return found


def plot_pareto(path: Path, marks: Sequence[Mark], x: str, y: str, *, span: int = 1) -> None:
    """Write a marker with its interval for each method, and the front as a line of steps."""
    series = list(dict.fromkeys(mark.series for mark in marks))

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        steps = front(marks)
        axes.step([m.x for m in steps], [m.mean for m in steps], where="post",
                  color="0.5", linewidth=0.8, linestyle="--", zorder=1)  # fmt: skip
        for place, name in enumerate(series):
            held = [mark for mark in marks if mark.series == name]
            axes.errorbar(
                [m.x for m in held],
                [m.mean for m in held],
                yerr=[
                    [max(m.mean - m.low, 0.0) for m in held],
                    [max(m.high - m.mean, 0.0) for m in held],
                ],
                fmt=marker(place),
                color=colour(place),
                markeredgecolor="black",
                markeredgewidth=0.4,
                elinewidth=0.7,
                capsize=1.5,
                label=plain(name),
            )
        axes.set_xlabel(plain(x))
        axes.set_ylabel(plain(y))
        legend_below(figure, span)

    height = (60.0 if span == 1 else 80.0) + legend_height(series, span)
    save(path, draw, span=span, height=height)
