"""Stored runs as a list, and as a sheet of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.report.notes import corpus_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_n
from graphrag_bench.report.rows import SHOWN, RunMetrics, parameter_details, spent, usual_metrics
from graphrag_bench.text import model_name, short


@dataclass(frozen=True)
class ListedRun:
    """A run in a list: its questions, last change, and `metrics`, empty before scoring."""

    dataset: str
    method: str
    key: str
    n_rows: int
    changed: str
    n_bytes: int
    metrics: Mapping[str, Any]


def runs_table(caption: str, runs: Sequence[ListedRun]) -> Table:
    """Return a row for each run in the order given; runs of one method with what they differ in."""
    scored = [run for run in runs if run.metrics]
    metrics = [run.metrics for run in scored]
    details = parameter_details([(run.dataset, run.method) for run in scored], metrics)
    of_run = {(run.dataset, run.key): text for run, text in zip(scored, details, strict=True)}
    notes = list(map(str, corpus_notes(metrics)))
    corpus = ("corpus",) if notes else ()
    rows = []
    for run in runs:
        own = run.metrics
        fingerprints = [str(own.get(name) or MISSING)[:SHOWN] for name in corpus]
        rows.append((
            run.dataset, *fingerprints,
            f"{own.get('method', run.method)} {of_run.get((run.dataset, run.key), '')}".strip(),
            run.key, shown_n(own) if own else str(run.n_rows),
            *(str(own.get(name, MISSING)) for name in ("failed", "answered")), run.changed,
            _reader(own) if own else "not scored", f"{run.n_bytes / 1e6:.1f}",
        ))  # fmt: skip
    if len(scored) < len(runs):
        notes.append("not scored: the run was stopped; run the same command again to resume")
    heads = ("data set", *corpus, "method", "key", "n", "failed", "answered", "changed", "model",
             "MB")  # fmt: skip
    texts = tuple(head for head in heads if head not in ("n", "failed", "answered", "MB"))
    return Table(caption, heads, tuple(rows), tuple(notes), texts=texts)


def _reader(run: RunMetrics) -> str:
    name = model_name(str(run.get("llm") or ""))
    return short(name, 22) if name and run.get("answered") else MISSING


def run_sheet(runs: Sequence[RunMetrics], settings: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row of plain cells for each run: names, settings, counts, metrics and costs.

    Means have their n and intervals beside them (`f1`, `f1_n`, `f1_low`, `f1_high`). Runs are what
    `metrics.json` holds, with their `folder`; what one lacks is empty.
    """
    metrics = usual_metrics(name for run in runs for name in run["metrics"])
    rows: list[dict[str, Any]] = []
    for run, of_run in zip(runs, settings, strict=True):
        row = {name: run.get(name) for name in ("key", "dataset", "method", "title")}
        row |= {**of_run, "n": run["n"], "failed": run["failed"]}
        for name in metrics:
            row |= interval(run, name)
        rows.append(row | spending(run) | {name: run.get(name) for name in ("commit", "folder")})
    heads = tuple(dict.fromkeys(head for row in rows for head in row))
    cells = (("" if row[head] is None else str(row[head]) for head in heads) for row in rows)
    return Table("", heads, tuple(map(tuple, cells)), ())


def interval(run: RunMetrics, name: str) -> dict[str, float | None]:
    """Return the mean of a metric as `f1`, with `f1_n`, `f1_low`, `f1_high`; None without it."""
    mean = run["metrics"].get(name, {})
    return {
        f"{name}{end}": mean.get(end.strip("_") or "mean") for end in ("", "_n", "_low", "_high")
    }


def spending(run: RunMetrics) -> dict[str, float | None]:
    """Return tokens of a context, calls and US dollars (cached calls too); None if imported."""
    if run.get("imported"):
        return dict.fromkeys(("context_tokens", "calls", "usd"))
    total = run["cost"]["total"]
    return {
        "context_tokens": run["usage"]["context_tokens_per_question"],
        "calls": total["paid"]["calls"] + total["cached"]["calls"],
        "usd": round(spent(run)[1], 6),
    }
