"""Write docs/results/board.md from the files of docs/results/board, a row for each.

`graphrag-bench runs export RUN --result` writes such a file; a test holds that the page has the
numbers of the files, and that no file was changed by hand. Usage: python scripts/write_board.py
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.tables.board import BOARD, read_result
from scripts.markdown import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / f"{BOARD}.md"
SHOWN = ("evidence_recall@5", "all_evidence@5", "mrr", "accuracy", "f1")
_HEAD = """\
# Board

Written by `python scripts/write_board.py` from the files of `docs/results/board/`, one for each
run; a test holds the numbers equal to the files
([how to add a row](../guides/sharing.md#a-row-of-the-board)). In brackets: 95 % intervals over the
questions. Each method links to the command that made its row; FOLDER is where its data set lies.
"""
Result = Mapping[str, Any]


def results(folder: Path = ROOT / BOARD) -> list[Result]:
    """Return the checked files of the board: by data set and corpus, the best recall first."""

    def place(one: Result) -> tuple[object, ...]:
        first = [-one["metrics"][name]["mean"] for name in SHOWN if name in one["metrics"]]
        return one["dataset"], one["corpus"], *first[:1], one["method"], one["key"]

    return sorted(map(read_result, folder.glob("*.json")), key=place)


def cell(text: object) -> str:
    """A text as a cell of a table: no HTML, link, code or border."""
    return re.sub(r"[&<>|`\[\]]", lambda sign: f"&#{ord(sign[0])};", str(text))


def anchor(one: Result) -> str:
    """The heading of a run's command on the page."""
    return f"{one['dataset']}-{one['method']}-{one['key']}".lower()


def figure(one: Result, name: str) -> str:
    """A metric with its interval, e.g. `0.775 [0.71, 0.84]`; – without it."""
    value = one["metrics"].get(name)
    return "{mean:.3f} [{low:.2f}, {high:.2f}]".format(**value) if value else "–"


def scored(one: Result, names: Sequence[str]) -> str:
    """The number of questions; of those with a figure, where it is smaller."""
    n = min((one["metrics"][name]["n"] for name in names if name in one["metrics"]), default=0)
    return f"{n} of {one['n']}" if n < one["n"] else str(n)


def board(every: Sequence[Result]) -> list[str]:
    """Return a table for each data set and corpus."""
    lines: list[str] = []
    for dataset, corpus in dict.fromkeys((one["dataset"], one["corpus"]) for one in every):
        own = [one for one in every if (one["dataset"], one["corpus"]) == (dataset, corpus)]
        names = [name for name in SHOWN if any(name in one["metrics"] for one in own)]
        heads = ("method", "n", *names, "context tokens", "profile", "reader", "commit")
        rows = [
            (
                f"[{cell(one['title'])}](#{anchor(one)})", scored(one, names),
                *(figure(one, name) for name in names),
                f"{one['usage']['context_tokens_per_question']:,.0f}", cell(one["profile"]),
                cell(one["llm"].partition("@")[0] or "–"), cell(one["environment"]["commit"]),
            )
            for one in own
        ]  # fmt: skip
        lines += [f"### {cell(dataset)}", "", f"Corpus `{corpus}`.", "", *table(heads, rows), ""]
    return lines


def page(every: Sequence[Result]) -> str:
    """The text of the board."""
    lines = [_HEAD, "## Runs", "", *board(every), "## Commands", ""]
    for one in every:
        about, name = one["environment"], f"{one['dataset']}-{one['method']}-{one['key']}.json"
        what = f"{about['platform']}, Python {about['python']}, {about['cores']} cores"
        lines += [f"### {anchor(one)}", "", "```", one["command"], "```", ""]
        lines += [
            f"[{name}](board/{name}): commit {about['commit']}, seed {about['seed']}, {what}."
        ]
        lines += [f"Embedder {cell(one['embedder'] or 'none')}.", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(results()), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
