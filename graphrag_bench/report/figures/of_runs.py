"""What figures show of runs: means of a metric with intervals, and the tokens of contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.arrange import arranged, named_along
from graphrag_bench.report.curves import BUDGET, Point, tokens_or_value
from graphrag_bench.report.figures.bars import Bar
from graphrag_bench.report.figures.lines import Mark
from graphrag_bench.report.selection import REFERENCE_ROLES

Run = Mapping[str, Any]


def check_metric(runs: Sequence[Run], metric: str) -> None:
    """Raise UserError, with the nearest names, for a metric that no run has."""
    known = sorted({name for run in runs for name in run["metrics"]})
    if metric not in known:
        raise UserError(f"No run has the metric '{metric}'. {did_you_mean(metric, known)}")


def bars_of(runs: Sequence[Run], metric: str) -> list[Bar]:
    """A bar for each run that has the metric, in the order and with the titles of tables."""
    check_metric(runs, metric)
    return [
        Bar(str(run["title"]), metric, *_interval(run["metrics"][metric]))
        for run in arranged(runs)
        if metric in run["metrics"]
    ]


def marks_of(runs: Sequence[Run], metric: str) -> list[Mark]:
    """A mark for each run with the metric, at the mean tokens of its contexts; 0 without one.

    An imported run, whose contexts are not known, has none.
    """
    check_metric(runs, metric)
    return [
        Mark(
            str(run["title"]),
            _tokens(run),
            *_interval(run["metrics"][metric]),
            reference=run["role"] in REFERENCE_ROLES,
        )
        for run in arranged(runs)
        if metric in run["metrics"] and not run.get("imported")
    ]


def marks_along(points: Sequence[Point], metric: str, along: str) -> list[Mark]:
    """A mark for each point of a curve with the metric, at its tokens or at its setting's value."""
    check_metric([point.metrics for point in points], metric)
    runs = [point.metrics for point in points]
    several = len({run["dataset"] for run in runs}) > 1
    names = [
        f"{run['dataset']}: {name}" if several else name
        for name, run in zip(named_along(runs, along), runs, strict=True)
    ]
    marks = [
        Mark(name, tokens_or_value(point), *_interval(point.metrics["metrics"][metric]),
             reference=point.metrics["role"] in REFERENCE_ROLES)
        for name, point in zip(names, points, strict=True)
        if metric in point.metrics["metrics"] and not (point.imported and point.at is None)
    ]  # fmt: skip
    return sorted(marks, key=lambda mark: (mark.series, mark.x))


def x_label(along: str) -> str:
    """What the x axis of a curve shows."""
    return "tokens of context" if along == BUDGET else along


def _interval(held: Mapping[str, float]) -> tuple[float, float, float]:
    return float(held["mean"]), float(held["low"]), float(held["high"])


def _tokens(run: Run) -> float:
    return float(run["usage"]["context_tokens_per_question"])
