"""Runs against an axis: tables of curves, and the bars and marks of figures.

Runs are what `metrics.json` holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.errors import unknown
from graphrag_bench.report.figures import Bar, Mark
from graphrag_bench.report.rendering import MISSING, Table, shown_mean
from graphrag_bench.report.rows import (
    IN_CONTEXT,
    REFERENCE_ROLES,
    corpus_notes,
    grouped,
    in_table_order,
    named_along,
)

NATIVE = "native"
BUDGET = "budget_context"
_BAR = 10
"""Characters of the bar of a mean of 1."""
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """A run on a curve: what `metrics.json` holds.

    `at` is the value of the setting that the curve is along, where that is not the context budget.
    """

    metrics: Run
    at: float | None = None

    @property
    def imported(self) -> bool:
        """Whether it is a run of somebody else's results, whose contexts are not known."""
        return bool(self.metrics.get("imported"))

    @property
    def tokens(self) -> float:
        """The mean tokens of its contexts, 0 without one."""
        return float(self.metrics["usage"]["context_tokens_per_question"] or 0)

    @property
    def x(self) -> float:
        """Where it is on the x axis: the value of its setting, or its mean tokens of context."""
        return self.tokens if self.at is None else self.at

    @property
    def label(self) -> str:
        """The value of its setting, or its context budget, as a cell."""
        if self.at is not None:
            return f"{self.at:g}"
        budget = self.metrics.get("budget_context")
        return MISSING if self.imported else f"{budget:,}" if budget else NATIVE


def curve_table(
    points: Sequence[Point], metrics: Sequence[str] = ("accuracy",), along: str = BUDGET
) -> Table:
    """Return a row for each run, by data set, method and the setting `along`.

    Along the context budget the rows of a method are in the order of their mean tokens of context.
    Runs of one method that differ in another setting are named by it. The bar is the last column's
    mean, from 0 to 1. Evidence is that of the packed context, not of the list that was retrieved,
    so that methods with longer lists gain nothing by them.
    """

    def place(titled: tuple[str, Point]) -> tuple[str, str, str, float]:
        title, point = titled
        return str(point.metrics["dataset"]), title, str(point.metrics["llm"]), point.x

    runs = [point.metrics for point in points]
    titles = named_along(runs, along, dataset=True)
    ordered = sorted(zip(titles, points, strict=True), key=place)
    rows = []
    for title, point in ordered:
        means = [point.metrics["metrics"].get(name) for name in (IN_CONTEXT, *metrics)]
        last = next(filter(None, reversed(means)), {"mean": 0.0})["mean"]
        rows.append((
            title, point.label, str(point.metrics["n"]),
            MISSING if point.imported else f"{point.tokens:.0f}",
            *map(shown_mean, means), "█" * round(_BAR * last),
        ))  # fmt: skip
    sets = ", ".join(dict.fromkeys(str(run["dataset"]) for run in runs))
    axis, effect, hint = along, along, ""
    if along == BUDGET:
        axis, effect, hint = "budget", "context", "; run -m budget_context=500,1000,2000"
    readers = ", ".join(sorted({str(run["llm"]) for run in runs} - {""})) or "none"
    notes = [
        f"answers by {readers}; intervals are 95 % bootstrap; evidence in "
        "context: share of the gold documents among the chunks of the packed context",
        *corpus_notes(runs),
    ]
    curves = grouped(ordered, lambda titled: titled[0])
    single = [title for title, of in curves.items() if len({point.label for _, point in of}) == 1]
    if single:
        notes.append(f"one value of {along} only, which is not a curve: {', '.join(single)}{hint}")
    heads = ("method", axis, "n", "context tokens", "evidence in context [95 %]",
             *(f"{name} [95 %]" for name in metrics), "")  # fmt: skip
    caption = f"{sets}: effect of {effect}"
    return Table(caption, heads, tuple(rows), tuple(notes), texts=("method", ""))


def check_metric(runs: Sequence[Run], metric: str) -> None:
    """Raise UserError, with the nearest names, for a metric that no run has."""
    known = {name for run in runs for name in run["metrics"]}
    if metric not in known:
        raise unknown("metric", metric, known)


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
    return _marks([(str(run["title"]), Point(run)) for run in in_table_order(runs)], metric)


def marks_along(points: Sequence[Point], metric: str, along: str) -> list[Mark]:
    """Return a mark for each point of a curve with the metric, by series and x."""
    runs = [point.metrics for point in points]
    check_metric(runs, metric)
    several = len({run["dataset"] for run in runs}) > 1
    named = zip(named_along(runs, along, dataset=several), points, strict=True)
    return sorted(_marks(named, metric), key=lambda mark: (mark.series, mark.x))


def x_label(along: str) -> str:
    """Return what the x axis of a curve shows."""
    return "tokens of context" if along == BUDGET else along


def _marks(named: Iterable[tuple[str, Point]], metric: str) -> list[Mark]:
    return [
        Mark(name, point.x, *_interval(run, metric), reference=run["role"] in REFERENCE_ROLES)
        for name, point in named
        if metric in (run := point.metrics)["metrics"] and not (point.imported and point.at is None)
    ]


def _interval(run: Run, metric: str) -> tuple[float, float, float]:
    mean = run["metrics"][metric]
    return float(mean["mean"]), float(mean["low"]), float(mean["high"])
