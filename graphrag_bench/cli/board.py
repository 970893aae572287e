"""`graphrag-bench board`: finished runs as rows of GraphRAG-Bench's table, and its files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.board import board_row, board_table, write_board
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.stored import find_run

_ABOUT = """
Prints the table of GraphRAG-Bench (Xiang et al. 2025) for finished runs on its sets: ACC, ROUGE-L,
coverage and faithfulness by type of question. Judge the answers first. With --out it writes each
run's answers in the form that the released evaluation reads, the scores in the form that it
writes, and the table as markdown and CSV. No model is called.

examples
  graphrag-bench judge RUN --metrics answer_correctness,coverage,faithfulness llm_judge=...
  graphrag-bench board RUN
  graphrag-bench board RUN_A RUN_B --out board
"""


def main(arguments: Sequence[str]) -> int:
    """Print the table, and the files that were written."""
    parser = command_parser("board", _ABOUT)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    parser.option("--out", "FOLDER", "write the files of the board there", kind=Path)
    parser.home()
    asked = parser.read(arguments)
    runs = [find_run(name, asked.home) for name in asked.runs]
    rows = [board_row(run) for run in runs]
    show(board_table(rows))
    if asked.out is not None:
        for path in write_board(runs, rows, asked.out):
            sys.stdout.write(f"{path}\n")
    return 0
