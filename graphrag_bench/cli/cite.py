"""`graphrag-bench cite`: what to cite for finished runs, as BibTeX."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.analysis.citation import citations
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.runs.stored import find_run

_ABOUT = """
Prints BibTeX: the papers of the methods (the file references.bib of a plug-in package says which),
the data sets, and this framework with the commits of the runs.

example
  graphrag-bench cite 0a1b2c >> paper.bib
"""


def main(arguments: Sequence[str]) -> int:
    """Print the entries."""
    parser = command_parser("cite", _ABOUT)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    parser.home()
    options = parser.read(arguments)
    runs = [find_run(name, options.home) for name in options.runs]
    sys.stdout.write("\n\n".join(citations(runs)) + "\n")
    return 0
