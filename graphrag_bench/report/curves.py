"""Accuracy and evidence against tokens of context: a method's runs at several budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.evaluation.statistics import Mean
from graphrag_bench.report.long_texts import cut_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_interval

NATIVE = "native"
_WIDTH = 20
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """A run on a curve: what `metrics.json` holds, and the evidence in its contexts.

    `in_context` is the share of a question's evidence that its context holds, over the questions
    with evidence; None where a context holds no chunks, whose documents would be known.
    """

    metrics: Run
    in_context: Mean | None


def curve_table(points: Sequence[Point], metrics: Sequence[str] = ("accuracy",)) -> Table:
    """A row for each run, by data set, method and mean tokens of context, means with intervals.

    The bar is the last column's mean, from 0 to 1. Evidence is that of the packed context, not of
    the list that was retrieved, so that methods with longer lists gain nothing by them.
    """
    ordered = sorted(points, key=_place)
    heads = ("method", "budget", "n", "context tokens", "evidence in context [95 %]",
             *(f"{name} [95 %]" for name in metrics), "")  # fmt: skip
    rows = []
    for point in ordered:
        run = point.metrics
        means = [run["metrics"].get(name) for name in metrics]
        last = next((held for held in reversed(means) if held), None)
        evidence = None if point.in_context is None else point.in_context.stored()
        budget = run.get("budget_context")
        rows.append((
            _named(point), f"{budget:,}" if budget else NATIVE, str(run["n"]),
            f"{_tokens(point):.0f}", _mean(evidence), *map(_mean, means), _bar(last or evidence),
        ))  # fmt: skip
    return Table(_caption(ordered), heads, tuple(rows), _notes(ordered), texts=("method", ""))


def _place(point: Point) -> tuple[str, str, str, float]:
    run = point.metrics
    return str(run["dataset"]), str(run["title"]), str(run["llm"]), _tokens(point)


def _tokens(point: Point) -> float:
    return float(point.metrics["usage"]["context_tokens_per_question"])


def _named(point: Point) -> str:
    return f"{point.metrics['dataset']}: {point.metrics['title']}"


def _mean(held: Mapping[str, Any] | None) -> str:
    if not held:
        return MISSING
    return f"{held['mean']:.3f}{shown_interval(held['low'], held['high'], held['n'])}"


def _bar(held: Mapping[str, Any] | None) -> str:
    return "█" * round(_WIDTH * held["mean"]) if held else ""


def _caption(points: Sequence[Point]) -> str:
    sets = dict.fromkeys(str(point.metrics["dataset"]) for point in points)
    return f"{', '.join(sets)}: what more context brings"


def _notes(points: Sequence[Point]) -> tuple[str, ...]:
    readers = sorted({str(point.metrics["llm"]) for point in points} - {""})
    notes = [
        f"answers by {', '.join(readers) or 'none'}; intervals are 95 % bootstrap; evidence in "
        "context: share of the gold documents among the chunks of the packed context"
    ]
    notes += cut_notes((_named(one), str(one.metrics.get("embedder", ""))) for one in points)
    several: dict[str, set[object]] = {}
    for point in points:
        several.setdefault(_named(point), set()).add(point.metrics.get("budget_context"))
    single = [name for name, budgets in several.items() if len(budgets) == 1]
    if single:
        notes.append(
            f"one budget only, which is no curve: {', '.join(single)}; run -m "
            "budget_context=500,1000,2000"
        )
    return tuple(notes)
