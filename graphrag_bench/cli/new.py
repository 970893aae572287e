"""Create a package with a new operator, a method that uses it, and a test.

The package is written to the current directory and runs as it is: start by editing the operator.
The test uses a graph of six nodes. --package names an existing or a new package.

An operator has one of these kinds: chunk (from nodes to chunks), rerank (from chunks to chunks),
node (from nodes to nodes), relationship (from nodes to relationships) and question (from the names
in a question to queries).

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
    of_operator = parser.add_action("operator", _write, "create an operator and a method NAME")
    of_method = parser.add_action("method", _write, "create a method NAME with its own operator")
    of_operator.add_word("name", "KIND.NAME", f"KIND is one of {kinds}")
    of_method.add_word("name", "NAME", "lower-case letters, digits and _")
    of_method.add_option("--kind", "KIND", f"{kinds} (default: chunk)", "chunk")
    for action in (of_operator, of_method):
        action.add_option("--package", "PACKAGE", "an existing or a new package (default: NAME)")


def _write(options: Namespace) -> None:
    load_plugins()
    name = f"{options.kind}.{options.name}" if "kind" in options else options.name
    skeleton = Skeleton.of_operator(name, options.package)
    print(*skeleton.write(Path()), sep="\n")
    package, project = skeleton.package, Path("pyproject.toml").read_text("utf-8")
    if f'{package} = "{package}"' not in project:
        print(f"! pyproject.toml has no entry point for '{package}'. Add it for pip install.")
    print(_NEXT.format(new=skeleton), end="")
