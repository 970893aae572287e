"""A table as a value, for the terminal by rich, and as markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphrag_bench.terminal import clean_line, raw

MISSING = "–"
_COMMAND = re.compile(r"([^`]*?): (graphrag-bench \S.*)")
_WORDS = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")
_INDENT = "  "
_WIDTH = 260
"""Signs of a line where the output is not a terminal: nothing is wrapped."""


@dataclass(frozen=True)
class Table:
    """A caption, column heads, rows of cells, and notes under the table.

    `texts` are the heads of columns set flush left; the others hold numbers. `about` explains
    columns by their heads. What `folds` says the same in every row is told in one line below it on
    a terminal. `width` is the most signs of a line that the table may take; None for what the
    output has.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)
    about: tuple[tuple[str, str], ...] = ()
    folds: bool = False
    width: int | None = None

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """Head and cells of each column."""
        return list(zip(self.heads, *self.rows, strict=True))

    @property
    def below(self) -> tuple[str, ...]:
        """The notes, and one that explains the columns."""
        names = {head: head.removesuffix(" [95 %]") for head, _ in self.about}
        said = "; ".join(f"{names[head]}: {text}" for head, text in self.about)
        return (*self.notes, said) if said else self.notes


def shown_n(run: Mapping[str, Any]) -> str:
    """The questions of a run that were scored, `n of m` where more were selected."""
    return str(run["n"]) if run["n"] == run["selected"] else f"{run['n']} of {run['selected']}"


def p_head(numbers: Iterable[int]) -> str:
    """The head of p-values corrected over so many tests each: `p (Holm, 5 tests)`; `p` for one."""
    held = sorted({*numbers})
    if held in ([], [1]):
        return "p"
    return f"p (Holm, {'-'.join(map(str, dict.fromkeys([held[0], held[-1]])))} tests)"


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
    lines += ["", *[f"{_escaped(note)}  " for note in table.below]]
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

    from graphrag_bench.report.fitting import fitted

    console = Console(file=raw(sys.stdout))
    if not console.is_terminal:
        console = Console(file=raw(sys.stdout), width=_WIDTH)
    plain = replace(
        table,
        heads=tuple(map(clean_line, table.heads)),
        rows=tuple(tuple(map(clean_line, row)) for row in table.rows),
        texts=tuple(map(clean_line, table.texts)),
        about=tuple((clean_line(head), text) for head, text in table.about),
    )
    console.print(Text(clean_line(table.caption), style="italic"))
    plain, held = fitted(plain, min(console.width, table.width or console.width))
    for block in held:
        drawn = RichTable()
        for column in block:
            drawn.add_column(
                Text(plain.heads[column.at]),
                justify="left" if plain.heads[column.at] in plain.texts else "right",
                width=column.width,
                overflow="fold",
            )
        for row in plain.rows:
            drawn.add_row(*[Text(row[column.at]) for column in block])
        console.print(drawn)
    for note in plain.below:
        for line in _note_lines(clean_line(note), console.width if console.is_terminal else None):
            whole = not console.is_terminal or line.startswith(_INDENT)
            console.print(Text(line, style="dim"), soft_wrap=whole)


def _note_lines(note: str, width: int | None) -> list[str]:
    """The note; a command at its end gets lines of its own where there is a width.

    They end in backslashes and are cut between words alone, so that they can be copied.
    """
    said = _COMMAND.fullmatch(note)
    if said is None or width is None:
        return [note]
    lines = [f"{_INDENT}"]
    for word in _WORDS.findall(said[2]):
        if lines[-1].strip() and len(lines[-1]) + len(word) + 2 > width:
            lines[-1] += "\\"
            lines.append(_INDENT * 2)
        lines[-1] += f"{word} "
    return [f"{said[1]}:", *(line.rstrip() for line in lines)]
