"""`graphrag-bench cite`: what to cite for finished runs, as BibTeX."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from graphrag_bench.analysis.bundling.verifying import opened_runs
from graphrag_bench.analysis.citation import citations
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.runs.stored import StoredRun, find_run

_ABOUT = """
Prints BibTeX: the papers of the methods (the file references.bib of a plug-in package says which),
the data sets, and this framework with the commits of the runs.

example
  graphrag-bench cite 0a1b2c >> paper.bib
  graphrag-bench cite paper.zip
"""


def main(arguments: Sequence[str]) -> int:
    """Print the entries."""
    parser = command_parser("cite", _ABOUT)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{RUN}; or a bundle, FILE.zip")
    parser.home()
    asked = parser.read(arguments)
    with ExitStack() as bundles:
        found: list[StoredRun] = []
        for name in asked.runs:
            if Path(name).suffix == ".zip":
                found += bundles.enter_context(opened_runs(Path(name)))
            else:
                found.append(find_run(name, asked.home))
        sys.stdout.write("\n\n".join(citations(found)) + "\n")
    return 0
