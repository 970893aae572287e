"""`graphrag-bench cite`: what to cite for finished runs, as BibTeX."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.analysis.citation import citations
from graphrag_bench.cli.parsing import command_parser
from graphrag_bench.runs.stored import find_run

_HELP = """usage: graphrag-bench cite RUN [RUN ...] [--home HOME]

Prints BibTeX: the papers of the methods (the file references.bib of a plug-in package says which),
the data sets, and this framework with the commits of the runs. RUN is a folder (`run: ...` of a run
prints it) or the beginning of its key.

  --home HOME   the folder that holds runs/ (paths.home of a run); default: .

example
  graphrag-bench cite 0a1b2c >> paper.bib
"""


def main(arguments: Sequence[str]) -> int:
    """Print the entries."""
    if not arguments or {"-h", "--help"} & set(arguments):
        sys.stdout.write(_HELP)
        return 0
    parser = command_parser("cite")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--home", default=".")
    asked = parser.parse_args(arguments)
    found = [find_run(name, asked.home) for name in asked.runs]
    sys.stdout.write("\n\n".join(citations(found)) + "\n")
    return 0
