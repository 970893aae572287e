"""`graphrag-bench new`: an operator or a method of one's own, as a package that runs at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, command_parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.inventing.skeleton import KINDS, Skeleton

_ABOUT = """
Writes a package with one operator, a method that uses it and a test on a graph of six nodes, into
the working folder. It runs at once, and what you change is the operator. In a folder that has such
a package, --package adds to it.

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
    asked = _parser().read(arguments)
    load_plugins()
    name = asked.name if asked.action == "operator" else f"{asked.kind}.{asked.name}"
    made = Skeleton.of_operator(name, asked.package)
    into = Path(asked.into)
    written = made.write(into)
    sys.stdout.write("".join(f"{path}\n" for path in written))
    if into != Path("."):
        sys.stdout.write(f"\ncd {into}")
    tests = f"tests/test_{made.module}.py"
    sys.stdout.write(_NEXT.format(tests=tests, name=made.name, package=made.package))
    return 0


def _parser() -> Parser:
    parser = command_parser("new", _ABOUT)
    of_operator = parser.action("operator", "an operator, named KIND.NAME, and a method NAME")
    of_method = parser.action("method", "a method NAME, and an operator of its own")
    of_operator.add_argument(
        "name", metavar="KIND.NAME", help=f"the kind is one of {', '.join(KINDS)}"
    )
    of_method.add_argument("name", metavar="NAME", help="small letters, digits and _")
    of_method.option("--kind", "KIND", f"of its operator: {', '.join(KINDS)}", "chunk")
    for one in (of_operator, of_method):
        one.option("--package", "PACKAGE", "the package it belongs to; default: NAME")
        one.option("--into", "FOLDER", "the folder to write into", ".")
    return parser
