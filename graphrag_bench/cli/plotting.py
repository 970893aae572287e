"""The options of a figure: its file, the columns of a paper that it spans, and its kind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.curves import BUDGET
from graphrag_bench.report.figures.bars import plot_bars
from graphrag_bench.report.figures.lines import plot_pareto
from graphrag_bench.report.figures.of_runs import bars_of, marks_of, x_label
from graphrag_bench.report.figures.paper import check_plot

_PLOT = (
    "also write a figure: .pdf (text stays text), .svg or .png; the same input gives the same "
    "bytes (needs the extra `figures`)"
)
_SPAN = "columns of a paper that the figure spans: 1 (85 mm, the default) or 2 (175 mm)"


def take_plot(parser: Parser, kinds: Sequence[str] = (), usual: str = "") -> None:
    """Let a command take `--plot` and `--span`, and `--kind` where it has several kinds."""
    parser.option("--plot", "FILE", _PLOT, kind=Path)
    parser.option("--span", "1|2", _SPAN, 1, int)
    if kinds:
        parser.option("--kind", "KIND", f"the figure: {', '.join(kinds)}; default: {usual}")


def check_figure(options: argparse.Namespace, kinds: Sequence[str] = ()) -> None:
    """Raise UserError, before any work, for a figure that cannot be written."""
    kind = getattr(options, "kind", None)
    if options.plot is None:
        if kind is not None or options.span != 1:
            raise UserError("--kind and --span are of a figure: they go with --plot FILE.")
        return
    if kind is not None and kind not in kinds:
        raise UserError(f"--kind {kind}: there is none. {did_you_mean(kind, kinds)}")
    check_plot(options.plot, options.span)


def tell_plot(path: Path) -> None:
    """Say where the figure is."""
    sys.stdout.write(f"plot: {path}\n")


def plot_runs(options: argparse.Namespace, runs: Sequence[Mapping[str, Any]], metric: str) -> None:
    """Write bars of a metric of runs, or with `--kind pareto` the metric against tokens."""
    if options.kind == "pareto":
        marks = marks_of(runs, metric)
        plot_pareto(options.plot, marks, x_label(BUDGET), metric, span=options.span)
    else:
        plot_bars(options.plot, bars_of(runs, metric), metric, span=options.span)
