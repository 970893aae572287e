"""Accuracy and evidence against tokens of context: a method's runs at several budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.evaluation.statistics import Mean
from graphrag_bench.report.arrange import named_along
from graphrag_bench.report.corpora import corpus_notes
from graphrag_bench.report.long_texts import cut_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_interval

NATIVE = "native"
BUDGET = "budget_context"
_WIDTH = 10
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """A run on a curve: what `metrics.json` holds, and the evidence in its contexts.

    `in_context` is the share of a question's evidence in its context, the mean over the questions
    with evidence; None where a piece does not say which documents it is from. `at` is the value of
    the setting that the curve is drawn along, where that is not the context budget.
    """

    metrics: Run
    in_context: Mean | None
    at: float | None = None

    @property
    def imported(self) -> bool:
        """Whether it is a run of somebody else's results, whose contexts are not known."""
        return bool(self.metrics.get("imported"))


def curve_table(
    points: Sequence[Point], metrics: Sequence[str] = ("accuracy",), along: str = BUDGET
) -> Table:
    """A row for each run, by data set, method and the setting `along`, means with intervals.

    Along the context budget the rows of a method are in the order of their mean tokens of context.
    Runs of one method that differ in another setting are named by it. The bar is the last column's
    mean, from 0 to 1. Evidence is that of the packed context, not of the list that was retrieved,
    so that methods with longer lists gain nothing by them.
    """
    names = named_along([point.metrics for point in points], along)
    ordered = sorted(zip(names, points, strict=True), key=_place)
    axis = "budget" if along == BUDGET else along
    heads = ("method", axis, "n", "context tokens", "evidence in context [95 %]",
             *(f"{name} [95 %]" for name in metrics), "")  # fmt: skip
    rows = []
    for name, point in ordered:
        run = point.metrics
        means = [run["metrics"].get(name) for name in metrics]
        evidence = None if point.in_context is None else point.in_context.stored()
        last = next((held for held in reversed(means) if held), evidence) or {"mean": 0.0}
        rows.append((
            f"{run['dataset']}: {name}", _shown_at(point), str(run["n"]),
            MISSING if point.imported else f"{_tokens(point):.0f}",
            _mean(evidence), *map(_mean, means),
            "█" * round(_WIDTH * last["mean"]),
        ))  # fmt: skip
    notes = _notes([row[0] for row in rows], [point for _, point in ordered], along)
    return Table(_caption(points, along), heads, tuple(rows), notes, texts=("method", ""))


def _place(named: tuple[str, Point]) -> tuple[str, str, str, float]:
    name, point = named
    set_name, reader = str(point.metrics["dataset"]), str(point.metrics["llm"])
    return set_name, name, reader, tokens_or_value(point)


def tokens_or_value(point: Point) -> float:
    """Where a point is on the x axis: the value of its setting, or its mean tokens of context."""
    return _tokens(point) if point.at is None else point.at


def _shown_at(point: Point) -> str:
    if point.at is not None:
        return f"{point.at:g}"
    if point.imported:
        return MISSING
    budget = point.metrics.get("budget_context")
    return f"{budget:,}" if budget else NATIVE


def _tokens(point: Point) -> float:
    return float(point.metrics["usage"]["context_tokens_per_question"] or 0)


def _mean(held: Mapping[str, Any] | None) -> str:
    if not held:
        return MISSING
    return f"{held['mean']:.3f}{shown_interval(held['low'], held['high'], held['n'])}"


def _caption(points: Sequence[Point], along: str) -> str:
    sets = dict.fromkeys(str(point.metrics["dataset"]) for point in points)
    what = "more context" if along == BUDGET else f"another {along}"
    return f"{', '.join(sets)}: what {what} brings"


def _notes(titles: Sequence[str], points: Sequence[Point], along: str) -> tuple[str, ...]:
    readers = sorted({str(point.metrics["llm"]) for point in points} - {""})
    notes = [
        f"answers by {', '.join(readers) or 'none'}; intervals are 95 % bootstrap; evidence in "
        "context: share of the gold documents among the chunks of the packed context"
    ]
    notes += corpus_notes([point.metrics for point in points])
    embedders = [str(point.metrics.get("embedder", "")) for point in points]
    notes += cut_notes(zip(titles, embedders, strict=True))
    several: dict[str, set[str]] = {}
    for title, point in zip(titles, points, strict=True):
        several.setdefault(title, set()).add(_shown_at(point))
    single = ", ".join(title for title, values in several.items() if len(values) == 1)
    if single and along == BUDGET:
        notes.append(
            f"one budget only, which is not a curve: {single}; run -m budget_context=500,1000,2000"
        )
    elif single:
        notes.append(f"one value of {along} only, which is not a curve: {single}")
    return tuple(notes)
