"""List methods, data sets, models, operators and other choices.

Without KIND, the command prints the number of choices of each kind. Operators are listed with their
inputs and outputs. Your own choices are listed with their files.

examples
  graphrag-bench list
  graphrag-bench list methods
  graphrag-bench list operators plugins=[mylab]
"""

import textwrap
from argparse import Namespace
from collections.abc import Iterator

from graphrag_bench.cli.parsing import CONFIG_DIR, WIDTH, Parser
from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import as_list
from graphrag_bench.config.sources import built_in_names, file_of, method_file, names, read_mapping
from graphrag_bench.contract import Operator, builders, operators, paper_first
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.report.rendering import show_json

GROUPS = {
    "datasets": "dataset", "methods": "method", "llms": "llm", "embedders": "embedder",
    "chunkings": "chunking", "poolings": "pooling", "profiles": "profile",
    "fidelities": "fidelity", "experiments": "experiment", "rows": "row",
}  # fmt: skip
"""The kinds of choices, and the group of settings of each kind."""
KINDS = (*GROUPS, "operators", "builders")
_MARGIN = 26


def declare(parser: Parser) -> None:
    parser.set_usage("[KIND] [plugins=[PACKAGE]] [--config-dir FOLDER]")
    parser.add_word("kind", "KIND", f"one of {', '.join(KINDS)}", "?")
    meaning = "packages that have your own operators, builders and configs"
    parser.add_settings([("plugins", "[PACKAGE]", "[]", meaning)])
    parser.add_section("folders", [CONFIG_DIR])
    parser.add_json()


def main(options: Namespace) -> None:
    if options.kind not in (None, *KINDS):
        raise unknown("kind", options.kind, KINDS)
    load_plugins(list(map(str, as_list(value_of(options.plugins, "plugins")))))
    if options.kind is None:
        counts = {kind: len(names(group)) for kind, group in GROUPS.items()}
        counts |= {"operators": len(operators.all()), "builders": len(builders.all())}
        lines = [f"{kind:<{_MARGIN - 2}}{n:>5}" for kind, n in counts.items()]
        show_json(counts) if options.json else print(*lines, sep="\n")
    elif options.json:
        heads = ("name", "about", "file")
        show_json([dict(zip(heads, one, strict=True)) for one in entries(options.kind)])
    else:
        wrapper = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * _MARGIN)
        for name, about, file in entries(options.kind):
            text = " ".join(filter(None, (about, file and f"(yours: {file})")))
            print(wrapper.fill(f"{name:<{_MARGIN - 1}} {text}").rstrip())


def entries(kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and file of each choice, built-in choices (without a file) first."""
    if kind in ("operators", "builders"):
        for one in paper_first(operators.all()) if kind == "operators" else builders.all():
            text = one.docstring.partition("\n")[0]
            if isinstance(one, Operator):
                reads = ", ".join(read.slot + "?" * read.optional for read in one.reads)
                marked = text + " (Table 3)" * bool(one.table3)
                text = f"{reads} -> {', '.join(one.writes)}: {marked}"
            yield one.name, text, ""
        return
    group = GROUPS[kind]
    ours = built_in_names(group)
    for name in [*ours, *sorted({*names(group)} - {*ours})]:
        try:
            about, file = "", file_of(group, name)
            if group == "method":
                about = str(method_file(name).get("title", ""))
            elif group == "dataset" and name in card_names():
                card = load_card(name)
                unchecked = "" if card.verified else "; format not checked"
                about = f"{card.title} [{card.license}{unchecked}]"
            elif file:
                read_mapping(file)
        except UserError as error:
            about = f"cannot be used: {error}"
        yield name, about, "" if name in ours else str(file or "")
