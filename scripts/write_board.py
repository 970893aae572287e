"""Write docs/results/board.md, which has a row for each JSON file in docs/results/board.

`graphrag-bench runs export RUN --result` writes the JSON file and a CSV file with the metrics of
each question, from which this script recomputes all means, counts and intervals. It fails if a
number differs, or if a file is missing, unknown or edited.
Usage: python scripts/write_board.py
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.tables.board import BOARD, read_result
from scripts.markdown import ROOT, table, write_pages

PAGE = ROOT / f"{BOARD}.md"
SHOWN = ("evidence_recall@5", "all_evidence@5", "mrr", "accuracy", "f1")
_HEAD = """\
# Board

This page lists stored runs. `python scripts/write_board.py` generates it from the files in
`docs/results/board/`. You can [add a run](../guides/sharing.md#a-row-of-the-board).

Numbers in brackets are 95 % intervals over questions. Each method links to the command of its run.
In the commands, FOLDER is the folder with the files of the data set. The CSV file of a run contains
the metrics of each question. `write_board.py` computes all numbers of the tables from the CSV
files, except the context tokens.
"""
Result = Mapping[str, Any]


def results(folder: Path = ROOT / BOARD) -> list[Result]:
    """Check and return the runs of the board, sorted by data set, corpus and descending recall."""

    def place(one: Result) -> tuple[object, ...]:
        first = [-one["metrics"][name]["mean"] for name in SHOWN if name in one["metrics"]]
        return one["dataset"], one["corpus"], *first[:1], one["method"], one["key"]

    files = set(folder.glob("*.json"))
    for path in sorted({*folder.iterdir()} - files - {one.with_suffix(".csv") for one in files}):
        raise UserError(f"{path.name} is not a file of the board.")
    return sorted(map(read_result, files), key=place)


def cell(text: object) -> str:
    """Escape a text so that a table cell shows it literally."""
    return re.sub(r"[&<>|`\[\]]", lambda sign: f"&#{ord(sign[0])};", str(text))


def anchor(one: Result) -> str:
    """Return the heading above the command of a run."""
    return f"{one['dataset']}-{one['method']}-{one['key']}".lower()


def board(every: Sequence[Result]) -> list[str]:
    """Return the lines of the tables, one table for each data set and corpus."""
    lines: list[str] = []
    for (dataset, corpus), group in groupby(every, itemgetter("dataset", "corpus")):
        own, rows = list(group), []
        names = [name for name in SHOWN if any(name in one["metrics"] for one in own)]
        for one in own:
            metrics = [one["metrics"].get(name) for name in names]
            n = min((metric["n"] for metric in metrics if metric), default=0)
            rows.append((
                f"[{cell(one['title'])}](#{anchor(one)})",
                f"{n} of {one['n']}" if n < one["n"] else str(n),
                *("{mean:.3f} [{low:.2f}, {high:.2f}]".format(**m) if m else "–" for m in metrics),
                f"{one['usage']['context_tokens_per_question']:,.0f}", cell(one["profile"]),
                cell(one["llm"].partition("@")[0] or "–"), cell(one["environment"]["commit"]),
            ))  # fmt: skip
        heads = ("method", "n", *names, "context tokens", "profile", "reader", "commit")
        about = f"All runs of this table use the same corpus (hash `{corpus}`)."
        lines += [f"### {cell(dataset)}", "", about, "", *table(heads, rows), ""]
    return lines


def page(every: Sequence[Result]) -> str:
    """Return the text of docs/results/board.md."""
    lines = [_HEAD, "## Runs", "", *board(every), "## Commands", ""]
    for one in every:
        about, name = one["environment"], f"{one['dataset']}-{one['method']}-{one['key']}.json"
        system = f"{about['platform']} with Python {about['python']} and {about['cores']} cores"
        embedder = f" Embedder: {cell(one['embedder'])}" if one["embedder"] else ""
        lines += [
            f"### {anchor(one)}", "", "```", one["command"], "```", "",
            f"[{name}](board/{name}) contains the run, and the [CSV file](board/{name[:-4]}csv) "
            "contains the metrics of each question. The run was made at commit "
            f"{about['commit']} with seed {about['seed']}, on {system}.{embedder}", "",
        ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    try:
        write_pages({PAGE: page(results())})
    except UserError as error:
        raise SystemExit(str(error)) from None
