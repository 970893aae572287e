"""Stored runs as a list, and one of them as a page of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.report.arrange import swept
from graphrag_bench.report.comparisons import usual_metrics
from graphrag_bench.report.corpora import SHOWN, corpus_notes
from graphrag_bench.report.costs import spent
from graphrag_bench.report.rendering import MISSING, Table, shown_n

_COUNTS = ("n", "failed", "answered")
_NAMES = ("key", "dataset", "method", "title")


@dataclass(frozen=True)
class ListedRun:
    """What a list says of a run; `metrics` is empty while it has not been scored.

    `n_rows` are the questions that it holds, `changed` the day and time of its last change.
    """

    dataset: str
    method: str
    key: str
    n_rows: int
    changed: str
    n_bytes: int
    metrics: Mapping[str, Any]


def runs_table(caption: str, runs: Sequence[ListedRun]) -> Table:
    """A line for each run, in the order given; runs of one method with what they differ in."""
    scored = [run for run in runs if run.metrics]
    metrics = [run.metrics for run in scored]
    details = swept([(run.dataset, run.method) for run in scored], metrics)
    said = {(run.dataset, run.key): one for run, one in zip(scored, details, strict=True)}
    rows = tuple(_row(run, said.get((run.dataset, run.key), "")) for run in runs)
    heads: tuple[str, ...] = ("data set", "method", "key", *_COUNTS, "changed", "model", "MB")
    notes = corpus_notes(metrics)
    if notes:
        heads = (*heads[:1], "corpus", *heads[1:])
        told = [str(run.metrics.get("corpus") or MISSING)[:SHOWN] for run in runs]
        rows = tuple((row[0], one, *row[1:]) for row, one in zip(rows, told, strict=True))
    if any(not run.metrics for run in runs):
        notes.append("not scored: the run was stopped; run the same command again to resume")
    return Table(caption, heads, rows, tuple(notes), texts=(*heads[:-6], "changed", "model"))


def _row(run: ListedRun, details: str) -> tuple[str, ...]:
    held = run.metrics
    counts = (str(run.n_rows), MISSING, MISSING)
    if held:
        counts = (shown_n(held), str(held["failed"]), str(held["answered"]))
    model = str(held.get("llm") or MISSING) if held else "not scored"
    names = (run.dataset, f"{run.method} {details}".strip(), run.key)
    return (*names, *counts, run.changed, model, f"{run.n_bytes / 1e6:.1f}")


def run_sheet(runs: Sequence[Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]) -> Table:
    """A row of plain cells for each run: names, counts, metrics, costs, and a column a setting.

    Means of metrics have their intervals beside them (`f1`, `f1_low`, `f1_high`). Runs are what
    `metrics.json` holds, with their `folder`; what one lacks is empty.
    """
    metrics = usual_metrics(name for run in runs for name in run["metrics"])
    rows = [
        {name: run.get(name) for name in _NAMES}
        | dict(said)
        | {name: run[name] for name in ("n", "failed")}
        | {head: held for name in metrics for head, held in interval(run, name).items()}
        | spending(run)
        | {name: run.get(name) for name in ("commit", "folder")}
        for run, said in zip(runs, settings, strict=True)
    ]
    heads = tuple(dict.fromkeys(head for row in rows for head in row))
    cells = (("" if row[head] is None else str(row[head]) for head in heads) for row in rows)
    return Table("", heads, tuple(map(tuple, cells)), ())


def interval(run: Mapping[str, Any], name: str) -> dict[str, float | None]:
    """The mean of a metric as `f1`, and its interval as `f1_low` and `f1_high`; None without it."""
    held = run["metrics"].get(name, {})
    sides = {"": "mean", "_low": "low", "_high": "high"}
    return {f"{name}{side}": held.get(what) for side, what in sides.items()}


def spending(run: Mapping[str, Any]) -> dict[str, float | None]:
    """Tokens of a context, calls and US dollars, cached ones as when paid; None for imported runs.

    A run is what `metrics.json` holds.
    """
    if run.get("imported"):
        return dict.fromkeys(("context_tokens", "calls", "usd"))
    total = run["cost"]["total"]
    calls = total["paid"]["calls"] + total["cached"]["calls"]
    usd = round(spent(run)[1], 6)
    return {
        "context_tokens": run["usage"]["context_tokens_per_question"], "calls": calls, "usd": usd,
    }  # fmt: skip


def run_lines(
    metrics: Mapping[str, Any],
    environment: Mapping[str, Any],
    artifacts: Mapping[str, str],
    files: Sequence[tuple[str, int]],
) -> Iterator[str]:
    """Configuration, metrics, cost, artifacts, environment and files of a run, a line each."""
    if metrics:
        yield "configuration"
        for name in ("profile", "fidelity", "limit", "answer", "extraction", "llm", "llm_build",
                     "embedder", "tokenizer"):  # fmt: skip
            yield f"  {name} = {MISSING if metrics.get(name) == '' else metrics.get(name)}"
        for name, value in metrics["settings"].items():
            if not name.startswith(("method.convert", "method.retrieve", "method.generate")):
                yield f"  {name} = {value}"
        for name, value in metrics.get("imported", {}).items():
            yield from [f"  imported.{name} = {value}"] if isinstance(value, int) else []
        yield "metrics"
        answered, failed = metrics["answered"], metrics["failed"]
        yield f"  {metrics['n']} questions, {answered} answered, {failed} failed"
        for name, held in metrics["metrics"].items():
            said = f"{held['mean']:.3f} [{held['low']:.3f}, {held['high']:.3f}]  n={held['n']}"
            yield f"  {name:<24} {said}"
        yield from (f"  {error}" for error in metrics["errors"])
        yield "cost"
        yield from [f"  {MISSING}"] if metrics.get("imported") else _costs(metrics["cost"])
    yield "artifacts"
    yield from (f"  {place}  {state}" for place, state in artifacts.items())
    yield "environment"
    for name, value in environment.items():
        if name != "packages":
            yield f"  {name} = {value}"
    packages = environment.get("packages", {})
    said = "packages: " + ", ".join(f"{name} {packages[name]}" for name in packages)
    yield from textwrap.wrap(said, 98, initial_indent="  ", subsequent_indent="    ")
    yield "files"
    yield from (f"  {name:<28} {n_bytes:>12,} bytes" for name, n_bytes in files)


def _costs(cost: Mapping[str, Any]) -> Iterator[str]:
    for name, held in {**cost["stages"], "total": cost["total"]}.items():
        paid, cached = held["paid"], held["cached"]
        tokens = paid["prompt_tokens"] + paid["completion_tokens"]
        yield (
            f"  {name:<12} {paid['calls']:>8,} calls paid  {tokens:>10,} tokens  "
            f"{paid['usd']:>9.4f} USD  {cached['calls']:>8,} from the cache"
        )
