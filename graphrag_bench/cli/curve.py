"""`graphrag-bench curve`: accuracy and evidence of stored runs against their tokens of context."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from graphrag_bench.cli.parsing import RUN, Parser, check_figure, take_plot, tell_plot
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.curves import (
    BUDGET,
    Point,
    check_metric,
    curve_table,
    marks_along,
    x_label,
)
from graphrag_bench.report.figures import plot_lines, plot_pareto
from graphrag_bench.report.rendering import show
from graphrag_bench.run.stored import StoredRun, find_run, numbers_of, stored_runs

_ABOUT = """
Shows the effect of more context tokens, or of another value of a setting: one row per finished
run, by method and value, with the evidence in its contexts and its accuracy. No model is called.
Without RUN it takes all runs below the home that have a budget_context, or a number for the
setting.

example
  graphrag-bench run -m dataset=sample method=vanilla,hipporag budget_context=500,1000,2000 limit=20
  graphrag-bench curve --dataset sample --metrics accuracy f1 --plot curve.pdf --span 2
  graphrag-bench run -m dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off
  graphrag-bench curve x=method.damping --metrics evidence_recall@5
"""
_X = (
    "any setting with a number, by its path: method.damping, chunking.size, dataset.noise; "
    f"default: {BUDGET}"
)
_KINDS = ("curve", "pareto")
_USUAL = ("accuracy", "evidence_recall@5")
"""The first that a run has is shown where no metric is named."""


def main(arguments: Sequence[str]) -> int:
    """Print the table, and write the figure."""
    options = _parser().read(arguments, alone=True)
    check_figure(options, _KINDS)
    along, points = _points(options)
    known = {name for point in points for name in point.metrics["metrics"]}
    metrics = options.metrics or [next((name for name in _USUAL if name in known), _USUAL[0])]
    for name in metrics:
        if name not in _USUAL:
            check_metric([point.metrics for point in points], name)
    show(curve_table(points, metrics, along))
    if options.plot is not None:
        marks = marks_along(points, metrics[0], along)
        plot = plot_pareto if options.kind == "pareto" else plot_lines
        plot(options.plot, marks, x_label(along), metrics[0], span=options.span)
        tell_plot(options.plot)
    return 0


def _parser() -> Parser:
    parser = Parser("curve", _ABOUT, "[RUN ...] [x=SETTING] [OPTIONS]")
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
    return parser


def _points(options: argparse.Namespace) -> tuple[str, list[Point]]:
    home, along = options.home, options.x
    runs = [find_run(name, home) for name in options.runs] or stored_runs(home)
    of_set = [run for run in runs if options.dataset in (None, run.metrics["dataset"])]
    if along == BUDGET:
        return along, [Point(run.metrics) for run in _packed(options, runs, of_set)]
    numbers = [(run, numbers_of(run)) for run in of_set]
    for path in (along, f"method.{along}"):
        if points := [
            Point(run.metrics, values[path]) for run, values in numbers if path in values
        ]:
            return path, points
    known = {path for _, values in numbers for path in values}
    hint = did_you_mean(along, known, sorted(known)[:8])
    raise UserError(f"No run below {home}/runs has a number for '{along}'. {hint}")


def _packed(
    options: argparse.Namespace, runs: Sequence[StoredRun], of_set: Sequence[StoredRun]
) -> list[StoredRun]:
    def budgeted(run: StoredRun) -> bool:
        return bool(options.runs or run.metrics.get("budget_context"))

    packed = [
        run
        for run in of_set
        if budgeted(run) and (run.imported or run.metrics["usage"]["context_tokens_per_question"])
    ]
    if packed:
        return packed
    sets = sorted({str(run.metrics["dataset"]) for run in runs if budgeted(run)})
    there = f" There are some on {', '.join(sets)}." if sets else ""
    on = f" on {options.dataset}" if options.dataset else ""
    raise UserError(
        f"No run below {options.home}/runs with a context and a budget_context{on}.{there} Make "
        "some: graphrag-bench run -m dataset=sample method=vanilla,hipporag "
        "budget_context=500,1000,2000"
    )
