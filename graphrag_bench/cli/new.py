"""Create a package here: an operator, a method that uses it, and a test.

The test is on a graph of six nodes. The package runs as it is; edit the operator. --package adds to
an existing package.

kinds: chunk (nodes to chunks), rerank (chunks to chunks), node (nodes to nodes), relationship
(nodes to relationships), question (the names in a question to texts to search for)

examples
  graphrag-bench new operator chunk.mine
  graphrag-bench new operator rerank.mine
  graphrag-bench new method mine --kind node
  graphrag-bench new operator node.bridge --package mine
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.scaffold.skeleton import KINDS, Skeleton

_NEXT = """
next
  python -m pytest tests/test_{new.module}.py
  graphrag-bench run -m dataset=sample method={new.name},vanilla plugins=[{new.package}] answer=off
"""


def declare(parser: Parser) -> None:
    kinds = ", ".join(KINDS)
    of_operator = parser.action("operator", _write, "an operator KIND.NAME, and a method NAME")
    of_method = parser.action("method", _write, "a method NAME, and an operator of its own")
    of_operator.word("name", "KIND.NAME", f"the kind is one of {kinds}")
    of_method.word("name", "NAME", "small letters, digits and _")
    of_method.option("--kind", "KIND", f"of its operator: {kinds}", "chunk")
    for action in (of_operator, of_method):
        action.option("--package", "PACKAGE", "the package it belongs to; default: NAME")


def _write(options: Namespace) -> None:
    load_plugins()
    name = f"{options.kind}.{options.name}" if "kind" in options else options.name
    skeleton = Skeleton.of_operator(name, options.package)
    print(*skeleton.write(Path()), sep="\n")
    print(_NEXT.format(new=skeleton), end="")
