"""`graphrag-bench list`: the names that can be chosen."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.cli.parsing import CONFIG_DIR, command_parser
from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import GROUPS, built_in, file_of, method_file, names, read
from graphrag_bench.contract import builders, operators
from graphrag_bench.data.card import card_names, load_card
from graphrag_bench.errors import UserError

_ABOUT = """
Lists what can be chosen: the names of every group (dataset=, method=, llm=, ...), your
own with their files, the data sets with their licences, the operators with what they read and
write, and the builders.

example
  graphrag-bench list
  graphrag-bench list | grep chunk.        the operators and builders of chunks
"""


def _plugins(arguments: Sequence[str]) -> list[str]:
    usage = "[plugins=[PACKAGE]] [--config-dir FOLDER]"
    parser = command_parser("list", _ABOUT, usage)
    meaning = "with what your packages hold: operators, builders, configs"
    parser.settings([("plugins", "[PACKAGE]", "[]", meaning)])
    parser.rows("folders", [CONFIG_DIR])
    found = value_of(parser.read(arguments, alone=True).plugins, "plugins")
    return [str(name) for name in (found if isinstance(found, list) else [found])]


def _list_own() -> None:
    for group in GROUPS:
        for name in sorted({*names(group)} - {*built_in(group)}):
            file = file_of(group, name)
            try:
                _ = method_file(name) if group == "method" else read(file) if file else {}
                sys.stdout.write(f"  yours, {group}: {name} ({file})\n")
            except UserError as error:
                sys.stdout.write(f"  cannot be used, {group} {name}: {error}\n")


def main(arguments: Sequence[str]) -> int:
    """Print the choices of every group, the operators and the builders."""
    load_plugins(_plugins(arguments))
    for group in GROUPS:
        rows = "PAPER.TABLE.ROW" if group == "row" else ", ".join(built_in(group))
        sys.stdout.write(f"{group}: {rows}\n")
    _list_own()
    sys.stdout.write("\ndata sets\n")
    for card in map(load_card, card_names()):
        unseen = "" if card.verified else "; shape not checked"
        sys.stdout.write(f"  {card.name:<24} {card.title} [{card.license}{unseen}]\n")
    sys.stdout.write("\noperators\n")
    for op in operators.all():
        reads = ", ".join(read.slot + ("?" if read.optional else "") for read in op.reads)
        first = (op.function.__doc__ or "").strip().splitlines()[0]
        sys.stdout.write(f"  {op.name:<24} {reads} -> {', '.join(op.writes)}: {first}\n")
    sys.stdout.write("\nbuilders\n")
    for builder in builders.all():
        first = (builder.function.__doc__ or "").strip().splitlines()[0]
        sys.stdout.write(f"  {builder.name:<24} {first}\n")
    return 0
