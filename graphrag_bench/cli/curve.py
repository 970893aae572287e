"""Shows the effect of more context tokens, or of another value of a setting.

One row per finished run, by method and value, with the evidence in its contexts and its accuracy.
No model is called. Without RUN it takes all runs below the home that have a budget_context, or a
number for the setting.

example
  graphrag-bench run -m dataset=sample method=vanilla,hipporag budget_context=500,1000,2000 limit=20
  graphrag-bench curve --dataset sample --metrics accuracy f1
  graphrag-bench run -m dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off
  graphrag-bench curve x=method.damping --metrics evidence_recall@5
"""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import RUNS, Parser
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report import curves
from graphrag_bench.report.curves import BUDGET, Point
from graphrag_bench.report.rendering import show
from graphrag_bench.run.stored import StoredRun, stored_runs
from graphrag_bench.run.stored_settings import numbers_of
from graphrag_bench.run.sweep import named_runs

_X = f"any setting with a number, by its path: method.damping, chunking.size; default: {BUDGET}"
_METRICS = "metrics of the runs; default: accuracy, or evidence_recall@5 where no run has it"
_USUAL = ("accuracy", "evidence_recall@5")
"""The first that a run has is shown where no metric is named."""


def declare(parser: Parser) -> None:
    parser.takes("[RUN ...] [x=SETTING] [OPTIONS]")
    parser.word("runs", "RUN", RUNS, "*")
    parser.settings([("x", "SETTING", BUDGET, _X)])
    parser.option("--dataset", "NAME", "only runs on this set")
    parser.add_argument("--metrics", nargs="+", default=[], metavar="NAME", help=_METRICS)
    parser.home()


def main(options: Namespace) -> None:
    along, points = points_along(options.x, options.home, options.runs, options.dataset)
    known = {name for point in points for name in point.metrics["metrics"]}
    metrics = options.metrics or [next((name for name in _USUAL if name in known), _USUAL[0])]
    for name in metrics:
        if name not in _USUAL:
            curves.check_metric([point.metrics for point in points], name)
    show(curves.curve_table(points, metrics, along))


def points_along(
    along: str, home: str | Path = ".", names: Sequence[str] = (), dataset: str | None = None
) -> tuple[str, list[Point]]:
    """Return the path of a setting and a point for each run: those named, or all below a home.

    Raises UserError where no run has a number for it, with what there is.
    """
    runs = named_runs(names, home) or stored_runs(home)
    of_set = [run for run in runs if dataset in (None, run.metrics["dataset"])]
    if along == BUDGET:
        budgeted = [run for run in of_set if names or run.metrics.get("budget_context")]
        if points := [Point(run.metrics) for run in budgeted if _has_context(run)]:
            return along, points
        raise UserError(
            f"No run on {dataset or 'any set'} below {home}/runs has a context and a "
            "budget_context; make some: run -m method=vanilla budget_context=500,1000"
        )
    numbers = [(run, numbers_of(run)) for run in of_set]
    for path in (along, f"method.{along}"):
        there = [(run, values[path]) for run, values in numbers if path in values]
        if there:
            return path, [Point(run.metrics, value) for run, value in there]
    known = {path for _, values in numbers for path in values}
    hint = did_you_mean(along, known, sorted(known)[:8])
    raise UserError(f"No run below {home}/runs has a number for '{along}'. {hint}")


def _has_context(run: StoredRun) -> bool:
    return bool(run.imported or run.metrics["usage"]["context_tokens_per_question"])
