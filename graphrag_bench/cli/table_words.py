"""The options of commands that print tables of runs: how many columns, and a figure of them."""

from __future__ import annotations

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.report.tables import COLUMNS

_COLUMNS = (
    "main (the default): n, the main metric, its difference from the baseline, context and cost of "
    "each method in 100 columns; all: every metric, difference and cost, with all notes"
)


def take_columns(parser: Parser) -> None:
    """Let a command take `columns=main` or `columns=all`."""
    parser.settings([("columns", "WHICH", COLUMNS[0], _COLUMNS)])
