"""Lists what can be chosen.

The names of every group (dataset=, method=, llm=, ...), your own with their files, the data sets
with their licences, the operators with what they read and write, and the builders.

example
  graphrag-bench list
  graphrag-bench list | grep chunk.        the operators and builders of chunks
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import groupby

from graphrag_bench.cli.parsing import CONFIG_DIR, Parser
from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import GROUPS, built_in, file_of, method_file, names, read
from graphrag_bench.contract import builders, operators, paper_first
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError


def declare(parser: Parser) -> None:
    parser.takes("[plugins=[PACKAGE]] [--config-dir FOLDER]")
    meaning = "with what your packages hold: operators, builders, configs"
    parser.settings([("plugins", "[PACKAGE]", "[]", meaning)])
    parser.rows("folders", [CONFIG_DIR])


def main(options: Namespace) -> None:
    plugins = value_of(options.plugins, "plugins")
    load_plugins([str(name) for name in (plugins if isinstance(plugins, list) else [plugins])])
    print(*_lines(), sep="\n")


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
    for table3, ops in groupby(paper_first(operators.all()), lambda op: bool(op.table3)):
        yield f"\noperators of {'Zhou et al. 2025, Table 3' if table3 else 'our own'}"
        for op in ops:
            reads = ", ".join(read.slot + "?" * read.optional for read in op.reads)
            yield f"  {op.name:<24} {reads} -> {', '.join(op.writes)}: {_first_line(op.function)}"
    yield "\nbuilders"
    for builder in builders.all():
        yield f"  {builder.name:<24} {_first_line(builder.function)}"


def _first_line(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().splitlines()[0]
