"""`graphrag-bench list`: the names that can be chosen."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from graphrag_bench.cli.parsing import CONFIG_DIR, Parser
from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import GROUPS, built_in, file_of, method_file, names, read
from graphrag_bench.contract import builders, operators, paper_first
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError

_ABOUT = """
Lists what can be chosen: the names of every group (dataset=, method=, llm=, ...), your
own with their files, the data sets with their licences, the operators with what they read and
write, and the builders.

example
  graphrag-bench list
  graphrag-bench list | grep chunk.        the operators and builders of chunks
"""


def main(arguments: Sequence[str]) -> int:
    """Print the choices of every group, the operators and the builders."""
    parser = Parser("list", _ABOUT, "[plugins=[PACKAGE]] [--config-dir FOLDER]")
    meaning = "with what your packages hold: operators, builders, configs"
    parser.settings([("plugins", "[PACKAGE]", "[]", meaning)])
    parser.rows("folders", [CONFIG_DIR])
    plugins = value_of(parser.read(arguments, alone=True).plugins, "plugins")
    load_plugins([str(name) for name in (plugins if isinstance(plugins, list) else [plugins])])
    sys.stdout.writelines(f"{line}\n" for line in _lines())
    return 0


def _lines() -> Iterator[str]:
    for group in GROUPS:
        yield f"{group}: {'PAPER.TABLE.ROW' if group == 'row' else ', '.join(built_in(group))}"
    for group in GROUPS:
        for name in sorted({*names(group)} - {*built_in(group)}):
            file = file_of(group, name)
            try:
                _ = method_file(name) if group == "method" else read(file) if file else {}
                yield f"  yours, {group}: {name} ({file})"
            except UserError as error:
                yield f"  cannot be used, {group} {name}: {error}"
    yield "\ndata sets"
    for card in map(load_card, card_names()):
        unseen = "" if card.verified else "; shape not checked"
        yield f"  {card.name:<24} {card.title} [{card.license}{unseen}]"
    yield "\noperators of Zhou et al. 2025, Table 3"
    ours = False
    for op in paper_first(operators.all()):
        if not op.table3 and not ours:
            ours = True
            yield "\noperators of our own"
        reads = ", ".join(read.slot + ("?" if read.optional else "") for read in op.reads)
        slots = f"{reads} -> {', '.join(op.writes)}"
        yield f"  {op.name:<24} {slots}: {(op.function.__doc__ or '').strip().splitlines()[0]}"
    yield "\nbuilders"
    for builder in builders.all():
        yield f"  {builder.name:<24} {(builder.function.__doc__ or '').strip().splitlines()[0]}"
