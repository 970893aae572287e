"""`graphrag-bench curve`: accuracy and evidence of stored runs against their tokens of context."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.cli.parsing import command_parser
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.evaluation.retrieval import evidence_recall
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.experiment.stored import StoredRun, find_run, stored_runs
from graphrag_bench.report.curves import Point, curve_table
from graphrag_bench.report.tables import show

_HELP = """usage: graphrag-bench curve [RUN ...] [--dataset NAME] [--metrics NAME ...] [--home HOME]

What more tokens of context bring: one row for each finished run, by method and mean tokens, with
the evidence that its contexts hold and its accuracy. No model is called. Without RUN all runs below
the home are taken that were made with a budget_context. RUN is a folder (`run: ...` of a run prints
it) or the beginning of its key.

  --dataset NAME        only runs on this set
  --metrics NAME ...    metrics of the runs to show; default: accuracy
  --home HOME           the folder that holds runs/ (paths.home of a run); default: .

example
  graphrag-bench run -m dataset=sample method=vanilla,hipporag budget_context=500,1000,2000 limit=20
  graphrag-bench curve --dataset sample --metrics accuracy f1
"""


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(_HELP)
        return 0
    parser = command_parser("curve")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--dataset")
    parser.add_argument("--metrics", nargs="+", default=["accuracy"])
    parser.add_argument("--home", default=".")
    asked = parser.parse_args(arguments)
    found = _chosen(asked.runs, asked.dataset, asked.home)
    known = {name for run in found for name in run.metrics["metrics"]}
    for name in asked.metrics:
        if name not in known and name != "accuracy":
            close = ", ".join(nearest(name, known) or sorted(known))
            raise UserError(f"No run has the metric '{name}'; nearest: {close}.")
    show(curve_table([_point(run) for run in found], asked.metrics))
    return 0


def _chosen(names: Sequence[str], dataset: str | None, home: str) -> list[StoredRun]:
    """The named runs, or those with a budget for all; raises UserError for none."""
    if names:
        every = [find_run(name, home) for name in names]
    else:
        every = [run for run in stored_runs(home) if run.metrics.get("budget_context")]
    found = [run for run in every if dataset in (None, run.metrics["dataset"])]
    packed = [run for run in found if run.metrics["usage"]["context_tokens_per_question"]]
    if packed:
        return packed
    sets = sorted({str(run.metrics["dataset"]) for run in every})
    there = f" There are some on {', '.join(sets)}." if sets else ""
    raise UserError(
        f"No run below {home}/runs with a context and a budget_context"
        f"{f' on {dataset}' if dataset else ''}.{there} Make some: graphrag-bench run -m "
        "dataset=sample method=vanilla,hipporag budget_context=500,1000,2000"
    )


def _point(run: StoredRun) -> Point:
    """The run with the evidence in its contexts, as far as its gold is at hand."""
    shares: list[float] = []
    scopes: list[str | None] = []
    for question, row in run.rows.items():
        gold = run.gold.get(question)
        if gold is None or not gold.evidence or "context" not in row:
            continue
        pieces = row["context"]["pieces"]
        chunks = [piece for piece in pieces if piece["kind"] == "chunk"]
        kept = [name for piece in chunks for name in (piece["id"], *piece.get("also", ()))]
        if pieces and not kept:
            return Point(run.metrics, None)
        kept = [gold.name_of(name) for name in kept]
        shares.append(evidence_recall(kept, gold.evidence, max(len(kept), 1)))
        scopes.append(row.get("scope"))
    held: Mean | None = mean_with_interval(shares, scopes=scopes) if shares else None
    return Point(run.metrics, held)
