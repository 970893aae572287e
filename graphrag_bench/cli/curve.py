"""`graphrag-bench curve`: accuracy and evidence of stored runs against their tokens of context."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.cli.plotting import check_figure, take_plot, tell_plot
from graphrag_bench.data.file_evidence import name_of
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.retrieval import evidence_recall
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.report.curves import BUDGET, Point, curve_table
from graphrag_bench.report.figures.lines import plot_lines
from graphrag_bench.report.figures.of_runs import marks_along, x_label
from graphrag_bench.report.figures.pareto import plot_pareto
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.record import documents_in
from graphrag_bench.runs.stored import StoredRun, find_run, numbers_of, stored_runs

_ABOUT = """
Shows the effect of more context tokens, or of another value of a setting: one row per finished
run, by method and value, with the evidence in its contexts and its accuracy. No model is called.
Without RUN it takes all runs below the home that were made with a budget_context, or that have a
number for the setting.

example
  graphrag-bench run -m dataset=sample method=vanilla,hipporag budget_context=500,1000,2000 limit=20
  graphrag-bench curve --dataset sample --metrics accuracy f1
  graphrag-bench run -m dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off
  graphrag-bench curve x=method.damping --metrics evidence_recall@5
  graphrag-bench curve --dataset sample --plot curve.pdf --span 2
"""
_X = (
    "any setting with a number, by its path: method.damping, chunking.size, dataset.noise; "
    f"default: {BUDGET}"
)
_KINDS = ("curve", "pareto")
_USUAL = ("accuracy", "evidence_recall@5")
"""The first that a run has is shown where no metric is named."""


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    asked = _read(arguments)
    check_figure(asked, _KINDS)
    names, along = asked.runs, asked.x
    if along == BUDGET:
        points = [_point(run) for run in _chosen(names, asked.dataset, asked.home)]
    else:
        along, points = _along(along, names, asked.dataset, asked.home)
    known = {name for point in points for name in point.metrics["metrics"]}
    metrics = asked.metrics or [next((name for name in _USUAL if name in known), _USUAL[0])]
    for name in metrics:
        if name not in known and name not in _USUAL:
            hint = did_you_mean(name, sorted(known))
            raise UserError(f"No run has the metric '{name}'. {hint}")
    show(curve_table(points, metrics, along))
    if asked.plot is not None:
        _plot(asked, points, metrics, along)
    return 0


def _plot(
    asked: argparse.Namespace, points: Sequence[Point], metrics: Sequence[str], along: str
) -> None:
    marks = marks_along(points, metrics[0], along)
    plot = plot_pareto if asked.kind == "pareto" else plot_lines
    plot(asked.plot, marks, x_label(along), metrics[0], span=asked.span)
    tell_plot(asked.plot)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    usage = "[RUN ...] [x=SETTING] [OPTIONS]"
    parser = command_parser("curve", _ABOUT, usage)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=RUN)
    parser.settings([("x", "SETTING", BUDGET, _X)])
    parser.option("--dataset", "NAME", "only runs on this set")
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=[],
        metavar="NAME",
        help="metrics of the runs to show; default: accuracy, or evidence_recall@5 where no run "
        "has it",
    )
    take_plot(parser, _KINDS, _KINDS[0])
    parser.home()
    return parser.read(arguments, alone=True)


def _along(
    along: str, names: Sequence[str], dataset: str | None, home: str
) -> tuple[str, list[Point]]:
    """The path of a setting, and the named runs, or all, that have a number for it.

    Raises UserError for none.
    """
    every = [find_run(name, home) for name in names] or stored_runs(home)
    every = [run for run in every if dataset in (None, run.metrics["dataset"])]
    held = [(run, numbers_of(run)) for run in every]
    for path in (along, f"method.{along}"):
        found = [(run, numbers[path]) for run, numbers in held if path in numbers]
        if found:
            return path, [replace(_point(run), at=value) for run, value in found]
    known = {path for _, numbers in held for path in numbers}
    hint = did_you_mean(along, known, sorted(known)[:8])
    raise UserError(f"No run below {home}/runs has a number for '{along}'. {hint}")


def _chosen(names: Sequence[str], dataset: str | None, home: str) -> list[StoredRun]:
    if names:
        every = [find_run(name, home) for name in names]
    else:
        every = [run for run in stored_runs(home) if run.metrics.get("budget_context")]
    found = [run for run in every if dataset in (None, run.metrics["dataset"])]
    packed = [
        run for run in found if run.imported or run.metrics["usage"]["context_tokens_per_question"]
    ]
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
    shares: list[float] = []
    scopes: list[str | None] = []
    for question, row in run.rows.items():
        gold = run.gold.get(question)
        if gold is None or not gold.evidence or "context" not in row:
            continue
        held_by = [documents_in(piece) for piece in row["context"]["pieces"]]
        if None in held_by:
            return Point(run.metrics, None)
        kept = [name_of(gold, name) for names in held_by for name in names or ()]
        shares.append(evidence_recall(kept, gold.evidence, max(len(kept), 1)))
        scopes.append(row.get("scope"))
    held: Mean | None = mean_with_interval(shares, scopes=scopes) if shares else None
    return Point(run.metrics, held)
