"""`graphrag-bench check`: whether a finished run keeps limits, for continuous integration."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.limits.outcomes import (
    Loss,
    Outcome,
    against,
    bounds,
    broken,
    complete,
    within_bounds,
)
from graphrag_bench.analysis.limits.reports import add_summary, junit, table
from graphrag_bench.cli.parsing import RUN, Parser, command_parser
from graphrag_bench.errors import UserError
from graphrag_bench.report.corpora import refuse_pair
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.stored import StoredRun, find_run

_ABOUT = """
Fails with exit code 1, and the reason, when a finished run does not keep its limits: the least or
the most of a metric's mean, the most that it may lose against another run, over the questions that
both have. A run with failed or missing questions fails too. No model is called.

examples
  graphrag-bench check 0a1b2c --min evidence_recall@5=0.6
  graphrag-bench check 0a1b2c --against runs/base --max-loss 0.02 --metrics evidence_recall@5
  graphrag-bench check 0a1b2c --against 9f8e7d --max-loss 0 --alpha 0.05 --junit check.xml
"""
_SUMMARY = "GITHUB_STEP_SUMMARY"


def main(arguments: Sequence[str]) -> int:
    """Print the outcome of each limit; 1 when one is not kept."""
    asked = _parser().read(arguments)
    run = find_run(asked.run, asked.home)
    outcomes = _outcomes(asked, run)
    title = f"{run.metrics['title']} on {run.metrics['dataset']}, {run.folder.path.name}"
    show(table(title, outcomes))
    for one in broken(outcomes):
        sys.stderr.write(f"not kept: {one.limit}: {one.found}\n")
    if asked.junit:
        _writable(asked.junit)
        write_whole(asked.junit, junit(title, outcomes))
    if asked.summary or os.environ.get(_SUMMARY):
        add_summary(_writable(Path(asked.summary or os.environ[_SUMMARY])), title, outcomes)
    return 1 if broken(outcomes) else 0


def _parser() -> Parser:
    parser = command_parser("check", _ABOUT, "RUN [--min METRIC=VALUE ...] [OPTIONS]")
    parser.add_argument("run", metavar="RUN", help=RUN)
    for option, meaning in (("--min", "least"), ("--max", "most")):
        parser.add_argument(
            option, action="append", default=[], metavar="METRIC=VALUE",
            help=f"the {meaning} that the mean of a metric may be; may be given several times",
        )  # fmt: skip
    parser.option("--against", "BASE", f"the run that it is compared with: {RUN}")
    parser.option("--max-loss", "VALUE", "the most that a metric's mean may lose; default: 0")
    parser.option(
        "--metrics",
        "NAMES",
        "the metrics that may not lose, comma-separated; default: those that tables compare",
        "",
    )
    parser.option(
        "--alpha",
        "P",
        "a larger loss counts only where the paired permutation test finds p below P; default: "
        "every larger loss counts",
        kind=float,
    )
    parser.option("--max-failed", "N", "the most questions that may have failed", 0, int)
    parser.option("--junit", "FILE", "write the outcomes as JUnit's XML", kind=Path)
    parser.option(
        "--summary", "FILE", f"append them as markdown; default: ${_SUMMARY}, where that is set",
        kind=Path,
    )  # fmt: skip
    parser.home()
    return parser


def _outcomes(asked: argparse.Namespace, run: StoredRun) -> list[Outcome]:
    """The outcome of each limit that is asked for; raises UserError for one that cannot be."""
    alone = [name for name in ("max_loss", "metrics", "alpha") if getattr(asked, name)]
    if alone and not asked.against:
        raise UserError(f"--{alone[0].replace('_', '-')} goes with --against BASE.")
    outcomes = complete(run.metrics, asked.max_failed)
    outcomes += within_bounds(run, bounds(asked.min, "--min"), bounds(asked.max, "--max"))
    if not asked.against:
        return outcomes
    base = find_run(asked.against, asked.home)
    refuse_pair(run.metrics, base.metrics)
    names = tuple(name.strip() for name in asked.metrics.split(",") if name.strip())
    loss = Loss(_number(asked.max_loss or "0"), names, asked.alpha)
    return outcomes + against(run, base, loss)


def _number(word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = -1.0
    if not found >= 0:
        raise UserError(f"--max-loss {word}: a number from 0 on was expected.")
    return found


def _writable(path: Path) -> Path:
    if not path.parent.is_dir():
        raise UserError(f"There is no folder '{path.parent}' to write to.")
    return path
