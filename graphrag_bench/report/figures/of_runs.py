"""What figures show of runs: means of a metric with intervals, and the tokens of contexts.

Runs are what `metrics.json` holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.curves import BUDGET, Point
from graphrag_bench.report.figures.bars import Bar
from graphrag_bench.report.figures.lines import Mark
from graphrag_bench.report.rows import REFERENCE_ROLES, in_table_order, named_along

Run = Mapping[str, Any]


def check_metric(runs: Sequence[Run], metric: str) -> None:
    """Raise UserError, with the nearest names, for a metric that no run has."""
    known = sorted({name for run in runs for name in run["metrics"]})
    if metric not in known:
        raise UserError(f"No run has the metric '{metric}'. {did_you_mean(metric, known)}")


def bars_of(runs: Sequence[Run], metric: str) -> list[Bar]:
    """Return a bar for each run that has the metric, in the order and with the titles of tables."""
    check_metric(runs, metric)
    scored = [run for run in in_table_order(runs) if metric in run["metrics"]]
    return [Bar(str(run["title"]), metric, *_interval(run, metric)) for run in scored]


def marks_of(runs: Sequence[Run], metric: str) -> list[Mark]:
    """Return a mark for each run with the metric, at the mean tokens of its contexts.

    An imported run, whose contexts are not known, has none.
    """
    check_metric(runs, metric)
    points = [(str(run["title"]), Point(run)) for run in in_table_order(runs)]
    return [_mark(*point, metric) for point in points if _has_mark(point[1], metric)]


def marks_along(points: Sequence[Point], metric: str, along: str) -> list[Mark]:
    """Return a mark for each point of a curve with the metric, by series and x."""
    runs = [point.metrics for point in points]
    check_metric(runs, metric)
    several = len({run["dataset"] for run in runs}) > 1
    names = [
        f"{run['dataset']}: {name}" if several else name
        for name, run in zip(named_along(runs, along), runs, strict=True)
    ]
    named = [one for one in zip(names, points, strict=True) if _has_mark(one[1], metric)]
    marks = [_mark(*one, metric) for one in named]
    return sorted(marks, key=lambda mark: (mark.series, mark.x))


def x_label(along: str) -> str:
    """Return what the x axis of a curve shows."""
    return "tokens of context" if along == BUDGET else along


def _has_mark(point: Point, metric: str) -> bool:
    return metric in point.metrics["metrics"] and not (point.imported and point.at is None)


def _mark(series: str, point: Point, metric: str) -> Mark:
    reference = point.metrics["role"] in REFERENCE_ROLES
    return Mark(series, point.x, *_interval(point.metrics, metric), reference=reference)


def _interval(run: Run, metric: str) -> tuple[float, float, float]:
    mean = run["metrics"][metric]
    return float(mean["mean"]), float(mean["low"]), float(mean["high"])
