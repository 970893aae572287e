"""`graphrag-bench list`: what there is to choose from."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.contract import builders, operators
from graphrag_bench.data.card import card_names, load_card
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import load_plugins
from graphrag_bench.experiment.groups import GROUPS, names

_HELP = """usage: graphrag-bench list

Prints what there is to choose from: the names of every group (dataset=, method=, llm=, ...), the
data sets with their licences, the operators with what they read and write, and the builders.

example
  graphrag-bench list
  graphrag-bench list | grep chunk.        the operators and builders of chunks
"""


def main(arguments: Sequence[str]) -> int:
    """Print the choices of every group, the operators and the builders."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(_HELP)
        return 0
    if arguments:
        raise UserError(f"list takes no arguments, and was given '{arguments[0]}'.")
    load_plugins(["operators", "methods"])
    for group in GROUPS:
        sys.stdout.write(f"{group}: {', '.join(names(group))}\n")
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
