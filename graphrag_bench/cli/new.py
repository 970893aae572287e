"""`graphrag-bench new`: an operator or a method of one's own, as a package that runs at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.inventing.skeleton import KINDS, Skeleton

_ABOUT = """
Creates a package in the working folder: an operator, a method that uses it, and a test on a graph
of six nodes. It runs as it is; edit the operator. --package adds to an existing package.

examples
  graphrag-bench new operator chunk.mine
  graphrag-bench new method mine
  graphrag-bench new operator node.bridge --package mine
"""
_NEXT = """
next
  python -m pytest {tests}
  graphrag-bench run -m dataset=sample method={name},vanilla plugins=[{package}] answer=off
"""


def main(arguments: Sequence[str]) -> int:
    """Write the files, and print them with the commands that come next."""
    kinds = ", ".join(KINDS)
    parser = Parser("new", _ABOUT)
    of_operator = parser.action("operator", "an operator, named KIND.NAME, and a method NAME")
    of_method = parser.action("method", "a method NAME, and an operator of its own")
    of_operator.add_argument("name", metavar="KIND.NAME", help=f"the kind is one of {kinds}")
    of_method.add_argument("name", metavar="NAME", help="small letters, digits and _")
    of_method.option("--kind", "KIND", f"of its operator: {kinds}", "chunk")
    for one in (of_operator, of_method):
        one.option("--package", "PACKAGE", "the package it belongs to; default: NAME")
        one.option("--into", "FOLDER", "the folder to write into", ".")
    options = parser.read(arguments)
    load_plugins()
    name = options.name if options.action == "operator" else f"{options.kind}.{options.name}"
    skeleton = Skeleton.of_operator(name, options.package)
    into = Path(options.into)
    sys.stdout.writelines(f"{path}\n" for path in skeleton.write(into))
    if into != Path("."):
        sys.stdout.write(f"\ncd {into}")
    tests = f"tests/test_{skeleton.module}.py"
    sys.stdout.write(_NEXT.format(tests=tests, name=skeleton.name, package=skeleton.package))
    return 0
