"""Runs against an axis, as a table. Runs are what `metrics.json` holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.errors import unknown
from graphrag_bench.report.rendering import MISSING, Table, shown_mean
from graphrag_bench.report.rows import IN_CONTEXT, corpus_notes, grouped, named_along

NATIVE = "native"
BUDGET = "budget_context"
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """A run on a curve: what `metrics.json` holds.

    `at` is the value of the setting that the curve is along, where that is not the context budget.
    """

    metrics: Run
    at: float | None = None

    @property
    def x(self) -> float | None:
        """The value of its setting, or its mean tokens of context; None where these are unknown."""
        if self.at is not None or self.metrics.get("imported"):
            return self.at
        return float(self.metrics["usage"]["context_tokens_per_question"] or 0)

    @property
    def label(self) -> str:
        """The value of its setting, or its context budget, as a cell."""
        if self.at is not None:
            return f"{self.at:g}"
        budget = self.metrics.get("budget_context")
        return MISSING if self.metrics.get("imported") else f"{budget:,}" if budget else NATIVE


def curve_table(
    points: Sequence[Point], metrics: Sequence[str] = ("accuracy",), along: str = BUDGET
) -> Table:
    """Return a row for each run, by data set, method and the setting `along`.

    Along the context budget the rows of a method are in the order of their mean tokens of context.
    Runs of one method that differ in another setting are named by it. Evidence is that of the
    packed context, not of the list that was retrieved, so that methods with longer lists gain
    nothing by them.
    """

    def place(titled: tuple[str, Point]) -> tuple[str, str, str, float]:
        title, point = titled
        return str(point.metrics["dataset"]), title, str(point.metrics["llm"]), point.x or 0.0

    runs = [point.metrics for point in points]
    titles = named_along(runs, along)
    ordered = sorted(zip(titles, points, strict=True), key=place)
    rows = tuple(
        (
            title, point.label, str(point.metrics["n"]), _context_tokens(point.metrics),
            *(_mean(point.metrics, name) for name in (IN_CONTEXT, *metrics)),
        )
        for title, point in ordered
    )  # fmt: skip
    sets = ", ".join(dict.fromkeys(str(run["dataset"]) for run in runs))
    readers = ", ".join(sorted({str(run["llm"]) for run in runs} - {""})) or "none"
    notes = [
        f"answers by {readers}; intervals are 95 % bootstrap; evidence in "
        "context: share of the gold documents among the chunks of the packed context",
        *corpus_notes(runs),
    ]
    curves = grouped(ordered, lambda titled: titled[0])
    single = [title for title, of in curves.items() if len({point.label for _, point in of}) == 1]
    if single:
        notes.append(f"one value of {along} only, which is not a curve: {', '.join(single)}")
    heads = ("method", along, "n", "context tokens", "evidence in context [95 %]",
             *(f"{name} [95 %]" for name in metrics))  # fmt: skip
    return Table(f"{sets}: effect of {along}", heads, rows, tuple(notes))


def _mean(run: Run, name: str) -> str:
    return shown_mean(run["metrics"].get(name), run["n"])


def _context_tokens(run: Run) -> str:
    tokens = run["usage"]["context_tokens_per_question"] or 0
    return MISSING if run.get("imported") else f"{tokens:.0f}"


def check_metric(runs: Sequence[Run], metric: str) -> None:
    """Raise UserError, with the nearest names, for a metric that no run has."""
    known = {name for run in runs for name in run["metrics"]}
    if metric not in known:
        raise unknown("metric", metric, known)
