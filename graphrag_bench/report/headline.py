"""The table that answers one question: how good is each method, against the baseline, at what cost.

It fits 100 signs and has four notes at most. Everything else is in `run_table`, in the table of
differences and in the table of costs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.comparisons import (
    IN_CONTEXT,
    Comparison,
    fewer_questions,
    usual_metrics,
)
from graphrag_bench.report.costs import spent
from graphrag_bench.report.notes import answers, context_of_rows, drawn_over, run_notes
from graphrag_bench.report.rendering import MISSING, WIDTH, Table, p_head, shown_n, shown_p
from graphrag_bench.report.tables import caption, cut_answers, with_interval, without_missing

MORE = "all columns, costs and notes: columns=all; what they mean: docs/metrics.md"
_WARNING = "! "
_EVIDENCE = "evidence_"
Run = Mapping[str, Any]


def main_metric(runs: Sequence[Run], asked: str | None = None) -> str:
    """The metric that the runs are read by: `asked`, or the first that any of them has.

    The order is accuracy, F1, Hit@1, list F1, then evidence recall at 5, or at the largest cut;
    where the context of any run is of rows, evidence in the context, which its ranked chunks are
    not. `accuracy` where they have none of these.
    """
    if asked:
        return asked
    held = usual_metrics(name for run in runs for name in run["metrics"])
    of_answers = [name for name in held if not name.startswith(_EVIDENCE)]
    if any(map(context_of_rows, runs)):
        held.sort(key=lambda name: name != IN_CONTEXT)
    return next(iter([*of_answers, *held]), "accuracy")


def headline_table(
    runs: Sequence[Run], differences: Sequence[Comparison] = (), metric: str | None = None
) -> Table:
    """A row for each run: n, its main metric with interval, difference and p, context, cost.

    The metric is `main_metric`. The difference is that of `differences`, by the place of a run
    among the runs, with its p; a note says where it is over fewer questions. `answers cut` is there
    where any was cut, `context` are the mean tokens of a context. The cost is that of all calls of
    the run, building included and cached replies at their price when paid: in US dollars where any
    run has cost some, else in tokens. A mean is marked with `!` while questions have failed. The
    notes name the models, the number of warnings with the first of them, and where the rest is.
    Runs are what `metrics.json` holds.
    """
    ordered = arranged([{**run, "place": place} for place, run in enumerate(runs)])
    name = main_metric(ordered, metric)
    shown = [one for one in differences if one.metric == name]
    tested = {one.place: one for one in shown}
    columns: list[tuple[str, Callable[[Run], str]]] = [("method", lambda run: str(run["title"]))]
    columns.append(("n", shown_n))
    if any(run["failed"] for run in ordered):
        columns.append(("failed", lambda run: str(run["failed"])))
    columns.append((f"{name} [95 %]", lambda run: with_interval(run, name)))
    if tested:
        baseline = "/".join(dict.fromkeys(one.subtracted for one in shown))
        columns.append((f"minus {baseline}", lambda run: _difference(run, tested)))
        columns.append((p_head(one.n_tests for one in shown), lambda run: _p(run, tested)))
    columns += cut_answers(ordered)
    columns.append(("context tokens", _context))
    columns.append(_cost(ordered))
    rows = tuple(tuple(cell(run) for _, cell in columns) for run in ordered)
    heads = tuple(head for head, _ in columns)
    said = [*fewer_questions(shown)[:1], *_notes(ordered, name)]
    notes = tuple(textwrap.shorten(note, WIDTH, placeholder=" …") for note in said)
    return without_missing(Table(caption(ordered), heads, rows, notes))


_Tested = Mapping[int, Comparison]


def _difference(run: Run, tested: _Tested) -> str:
    return f"{tested[run['place']].found.mean:+.3f}" if run["place"] in tested else MISSING


def _p(run: Run, tested: _Tested) -> str:
    return shown_p(tested[run["place"]].p) if run["place"] in tested else MISSING


def _context(run: Run) -> str:
    n_tokens = run["usage"]["context_tokens_per_question"]
    return f"{n_tokens:,.0f}" if n_tokens else MISSING


def _cost(runs: Sequence[Run]) -> tuple[str, Callable[[Run], str]]:
    if any(spent(run)[1] for run in runs):
        return "cost, USD", lambda run: MISSING if run.get("imported") else f"{spent(run)[1]:.4f}"
    return "cost, tokens", lambda run: f"{n:,.0f}" if (n := spent(run)[0]) else MISSING


def _notes(runs: Sequence[Run], metric: str) -> list[str]:
    readers = sorted({str(run["llm"]) for run in runs if answers(run) and run["llm"]})
    embedders = sorted({str(run["embedder"]) for run in runs if run["embedder"]})
    commits = sorted({str(run["commit"]) for run in runs if run["commit"]})
    over = drawn_over(run["metrics"].get(metric, {}).get("clusters", 0) for run in runs)
    said = [f"intervals over {over.partition(' (')[0]}; commit {', '.join(commits) or 'none'}"]
    said += [f"answers by {', '.join(readers)}"] if readers else []
    said += [f"embedder {', '.join(embedders)}"] if embedders else []
    warnings = [note.removeprefix(_WARNING) for note in run_notes(runs) if note.startswith("!")]
    n_failed = sum(run["failed"] for run in runs)
    errors = [str(error) for run in runs for error in run["errors"]]
    failed = [f"{n_failed} failed, run again: {', '.join(errors[:1]) or 'unknown'}"]
    first = next(iter([*(failed if n_failed else []), *warnings]), "")
    counted = f"! {len(warnings)} warning{'s' * (len(warnings) > 1)}: {first}"
    return ["; ".join(said), *([counted] if warnings else []), MORE]
