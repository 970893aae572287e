"""The options of a figure: its file, the columns of a paper that it spans, and its kind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.figures.bars import plot_bars
from graphrag_bench.report.figures.of_runs import bars_of, marks_of, x_label
from graphrag_bench.report.figures.paper import check_plot
from graphrag_bench.report.figures.pareto import plot_pareto

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


def check_figure(asked: argparse.Namespace, kinds: Sequence[str] = ()) -> None:
    """Raise UserError, before any work, for a figure that cannot be written."""
    kind = getattr(asked, "kind", None)
    if asked.plot is None:
        if kind is not None or asked.span != 1:
            raise UserError("--kind and --span are of a figure: they go with --plot FILE.")
        return
    if kind is not None and kind not in kinds:
        raise UserError(f"--kind {kind}: there is none. {did_you_mean(kind, kinds)}")
    check_plot(asked.plot, asked.span)


def tell_plot(path: Path) -> None:
    """Say where the figure is."""
    sys.stdout.write(f"plot: {path}\n")


def plot_runs(asked: argparse.Namespace, runs: Sequence[Mapping[str, Any]], metric: str) -> None:
    """Write bars of a metric of runs, or with `--kind pareto` the metric against tokens."""
    if asked.kind == "pareto":
        plot_pareto(
            asked.plot,
            marks_of(runs, metric),
            x_label("budget_context"),
            metric,
            span=asked.span,
        )
    else:
        plot_bars(asked.plot, bars_of(runs, metric), metric, span=asked.span)
