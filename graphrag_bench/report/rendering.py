"""A table as a value, for the terminal by rich, and as markdown."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from graphrag_bench.terminal import clean_line, raw

MISSING = "–"
_WIDTH = 260
"""Signs of a line where the output is no terminal: nothing is wrapped."""


@dataclass(frozen=True)
class Table:
    """A caption, column heads, rows of cells, and notes under the table.

    `texts` are the heads of columns set flush left; the others hold numbers.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)


def shown_p(p: float) -> str:
    """A p-value with four decimals, or that it is below what they show."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def shown_interval(low: float, high: float, n: int) -> str:
    """An interval behind its mean; nothing for a single value, which tells of no spread."""
    return f" [{low:.2f}, {high:.2f}]" if n > 1 else ""


def markdown(table: Table) -> str:
    """The table as GitHub markdown; cell texts are escaped."""
    lines = [f"**{_escaped(table.caption)}**", ""]
    lines.append("| " + " | ".join(map(_escaped, table.heads)) + " |")
    lines.append("|" + "---|" * len(table.heads))
    lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in table.rows]
    lines += ["", *[f"{_escaped(note)}  " for note in table.notes]]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    text = clean_line(text)
    for sign in ("\\", "|", "<", ">", "`"):
        text = text.replace(sign, "\\" + sign)
    return text


def show(table: Table) -> None:
    """Print the table to the terminal, in several blocks where it is wider than that."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from graphrag_bench.report.fitting import blocks

    console = Console(file=raw(sys.stdout))
    if not console.is_terminal:
        console = Console(file=raw(sys.stdout), width=_WIDTH)
    plain = replace(
        table,
        heads=tuple(map(clean_line, table.heads)),
        rows=tuple(tuple(map(clean_line, row)) for row in table.rows),
    )
    console.print(Text(clean_line(table.caption), style="italic"))
    for block in blocks(plain, console.width):
        drawn = RichTable()
        for column in block:
            drawn.add_column(
                Text(plain.heads[column.at]),
                justify="left" if table.heads[column.at] in table.texts else "right",
                width=column.width,
                overflow="fold",
            )
        for row in plain.rows:
            drawn.add_row(*[Text(row[column.at]) for column in block])
        console.print(drawn)
    for note in table.notes:
        console.print(Text(clean_line(note), style="dim"))
