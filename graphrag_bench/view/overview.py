"""What the overview of a run page says: scores, costs, estimates, funnels, paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.funnel.stored import RunFunnel, run_funnel
from graphrag_bench.analysis.funnel.table import SAID
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.report.comparisons import (
    paired_differences,
    recorded_settings,
    settings_that_differ,
    usual_metrics,
)
from graphrag_bench.report.costs import spent
from graphrag_bench.report.notes import run_notes
from graphrag_bench.report.rows import differ, in_table_order
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun

Plain = dict[str, Any]
_FIELDS = ("dataset", "method", "key", "role", "n", "selected", "failed", "answered", "fell_back",
         "fallbacks", "errors", "flags", "commit", "corpus", "limit", "imported")  # fmt: skip


def titles_of(runs: Sequence[StoredRun]) -> list[str]:
    """Return the title of each run, as the tables have it."""
    rows = in_table_order([{**run.metrics, "place": place} for place, run in enumerate(runs)])
    return [str(row["title"]) for row in sorted(rows, key=lambda row: row["place"])]


def run_row(run: StoredRun, title: str, funnel: RunFunnel | str) -> Plain:
    """Return what the table of the overview and its plots show of one run.

    `metrics` have mean, low, high and n; `cost` the calls of each step, paid and cached; `estimate`
    what `plan` expects; `seconds` the mean of each step over the questions that took it; `spent`
    all tokens and US dollars, cached replies at their price when paid, None of an imported run.
    `funnel` is None where `funnel_note` says why.
    """
    metrics = run.metrics
    n_tokens, usd = (None, None) if run.imported else spent(metrics)
    return {
        **{name: metrics.get(name) for name in _FIELDS},
        **{name: metrics[name] for name in ("metrics", "usage", "estimate")},
        "title": title,
        "spent": {"tokens": n_tokens, "usd": usd},
        "cost": {name: metrics["cost"][name] for name in ("steps", "stages")},
        "seconds": _seconds(run),
        "settings": recorded_settings(metrics),
        "notes": run_notes([metrics]),
        "funnel": None if isinstance(funnel, str) else funnel_row(funnel),
        "funnel_note": funnel if isinstance(funnel, str) else "; ".join(funnel.unknown),
    }


def _seconds(run: StoredRun) -> dict[str, float]:
    steps: dict[str, list[float]] = {}
    for one in run.folder.timing():
        steps.setdefault(one["step"], []).append(one["seconds"])
    return {step: round(sum(times) / len(times), 6) for step, times in sorted(steps.items())}


def funnel_of(run: StoredRun, home: Path, shared: str | None) -> RunFunnel | str:
    """Return the evidence funnel of a run, or why there is none."""
    try:
        return run_funnel(run, home, shared)
    except UserError as error:
        return str(error)


def funnel_row(of_run: RunFunnel) -> Plain:
    """Return the stages of a funnel in order, with what each lost and what is left behind it."""
    funnel = of_run.funnel
    stages = [{**vars(count), "said": SAID[count.stage]} for count in funnel.counts()]
    return {"documents": funnel.n_documents, "questions": funnel.n_questions, "stages": stages}


def metric_rows() -> list[Plain]:
    """Return the name and meaning of every metric, and whether more is better."""
    return [
        {"name": one.name, "meaning": one.meaning, "more": one.more_is_better} for one in metrics()
    ]


def pair_rows(runs: Sequence[StoredRun]) -> list[Plain]:
    """Return for each two runs over one corpus B minus A in each metric, and differing settings.

    Differences are those of `paired_differences`, whose p is not corrected for several metrics.
    `a` and `b` are places among the runs.
    """
    scores = [scores_of(run) for run in runs]
    rows = []
    for b, second in enumerate(runs):
        for a, first in enumerate(runs[:b]):
            same = first.metrics["dataset"] == second.metrics["dataset"]
            if not same or differ(first.metrics, second.metrics):
                continue
            metrics = usual_metrics(name for one in scores[a].values() for name in one)
            pairs = paired_differences(scores[a], scores[b], first.scopes, metrics)
            differences = [{"metric": name, **vars(difference)} for name, difference in pairs]
            settings = settings_that_differ(first.metrics, second.metrics)
            rows.append({"a": a, "b": b, "differences": differences, "settings": settings})
    return rows
