"""`graphrag-bench engines`: released engines, each installed into an environment of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, command_parser
from graphrag_bench.engines.environments import Environments
from graphrag_bench.engines.known import FOLDER
from graphrag_bench.progress import Progress

_ABOUT = """
Released engines of graph RAG, as their authors published them: rows of a table beside the methods
of this project (run method=original engine=NAME). Each is installed with pip into an environment of
its own, at the versions of a lock that comes with this framework.

examples
  graphrag-bench engines ls
  graphrag-bench engines install lightrag-hku
  graphrag-bench run dataset=sample method=original engine=lightrag-hku limit=10
"""


def main(arguments: Sequence[str]) -> int:
    """List, install or remove."""
    asked = _parser().read(arguments)
    there = Environments(Path(asked.folder).expanduser())
    if asked.action == "ls":
        _show(there)
    elif asked.action == "install":
        there.known(asked.name)
        there.install(
            asked.name, locked=not asked.no_lock, python=asked.python, progress=Progress()
        )
        folder = "" if asked.folder == FOLDER else f" paths.engines={asked.folder}"
        sys.stdout.write(
            f"use it: graphrag-bench run dataset=sample method=original engine={asked.name}"
            f"{folder} limit=10\n"
        )
    else:
        there.remove(asked.name)
        sys.stdout.write(f"removed: {there.folder / asked.name}\n")
    return 0


def _parser() -> Parser:
    parser = command_parser("engines", _ABOUT)
    ls = parser.action("ls", "the engines, whether they are installed, and what stops one")
    install = parser.action("install", "one engine into an environment of its own, with pip")
    remove = parser.action("remove", "the environment of one engine")
    for one in (install, remove):
        one.add_argument("name", metavar="NAME", help="one of `graphrag-bench engines ls`")
    install.option("--python", "FILE", "the Python of its environment, where it asks for another")
    install.flag("--no-lock", "let pip choose the versions of what the engine needs")
    for one in (ls, install, remove):
        one.option("--folder", "FOLDER", "of the environments (paths.engines of a run)", FOLDER)
    return parser


def _show(there: Environments) -> None:
    from graphrag_bench.report.rendering import Table, show

    rows = tuple(
        (name, one.version, _state(there, name), str(len(there.requirements(name)) or "–"),
         one.stops)
        for name, one in there.engines.items()
    )  # fmt: skip
    heads = ("engine", "version", "installed", "packages", "what stops it")
    texts = ("engine", "version", "installed", "what stops it")
    notes = (
        f"environments: {there.folder}",
        "packages: those of the lock",
        *(f"{name} asks for Python {one.python}" for name, one in there.engines.items()
          if one.python),
        *(f"{name}: {one.differs}" for name, one in there.engines.items() if one.differs),
    )  # fmt: skip
    show(Table("released engines", heads, rows, notes, texts=texts))


def _state(there: Environments, name: str) -> str:
    installed = there.installed(name)
    if installed is None:
        return "no"
    if there.changed(name):
        return "the lock has changed: install again"
    return "yes" if installed.lock else "yes, without lock"
