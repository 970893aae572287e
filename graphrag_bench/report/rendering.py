"""A table as a value: for the terminal by rich, and as markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.terminal import clean_line, raw

MISSING = "–"
WIDTH = 100
"""Characters of a line where the output is not a terminal and `COLUMNS` is not set."""
_MOST_PADDED = 10
"""Columns of a table with spaces around its cells; more columns take that room for numbers."""
_MARKDOWN = re.compile(r"([\\|<>`])")
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "–": "--", "†": r"$^\dagger$", "ρ": r"$\rho$", "τ": r"$\tau$", "±": r"$\pm$", "−": "$-$",
    "[": "{[}", "]": "{]}",
}  # fmt: skip
_FORMULA = re.compile(r"[=@+-](?!\.?\d[\d.]*(e[+-]?\d+)?$)")
"""What a spreadsheet would run: a sign of a formula before anything but a number."""


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


def shown_n(run: Mapping[str, Any]) -> str:
    """Return the number of scored questions of a run, `n of m` where more were selected."""
    return str(run["n"]) if run["n"] == run["selected"] else f"{run['n']} of {run['selected']}"


def p_head(numbers: Iterable[int]) -> str:
    """Return the head of p-values by their families' sizes: `p (Holm, 5 tests)`; `p` for one."""
    sizes = sorted({*numbers})
    if sizes in ([], [1]):
        return "p"
    return f"p (Holm, {'-'.join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))} tests)"


def shown_p(p: float) -> str:
    """Return a p-value with four decimals, or `<0.0001`."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def shown_interval(low: float, high: float, n: int) -> str:
    """Return the interval that follows a mean of n values; "" for a single one."""
    return f" [{low:.2f}, {high:.2f}]" if n > 1 else ""


def shown_mean(mean: Mapping[str, Any] | None) -> str:
    """Return a stored mean with its interval, `MISSING` for None."""
    if not mean:
        return MISSING
    return f"{mean['mean']:.3f}{shown_interval(mean['low'], mean['high'], mean['n'])}"


def show(table: Table) -> None:
    """Print the table by rich, as wide as the terminal, `COLUMNS`, or else `WIDTH`.

    Heads of a table that is too wide are broken in two lines, then long cells fold.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width, height = shutil.get_terminal_size((WIDTH, 24))
    console = Console(file=raw(sys.stdout), width=width, height=height)
    heads, *rows = [[clean_line(cell) for cell in row] for row in (table.heads, *table.rows)]
    natural = 1 + sum(3 + max(map(cell_len, column)) for column in zip(heads, *rows, strict=True))
    grid = RichTable(padding=(0, 1 if len(heads) <= _MOST_PADDED else 0))
    for name, head in zip(table.heads, heads, strict=True):
        side = "left" if name in table.texts else "right"
        text = Text(_two_lines(head) if natural > width else head)
        grid.add_column(text, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        grid.add_row(*map(Text, row))
    console.print(Text(clean_line(table.caption), style="italic"))
    console.print(grid)
    for note in table.notes:  # a command in it is to be copied, and a pipe to be searched
        whole = not console.is_terminal or "graphrag-bench " in note
        console.print(Text(clean_line(note), style="dim"), soft_wrap=whole)


def _two_lines(head: str) -> str:
    words = head.split()
    pairs = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return "\n".join(min(pairs, key=lambda pair: max(map(len, pair)), default=(head,)))


def markdown(table: Table) -> str:
    """Write the table as GitHub markdown; no text of it is markup."""

    def escaped(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", clean_line(text))

    head, *rows = [f"| {' | '.join(map(escaped, row))} |" for row in (table.heads, *table.rows)]
    above = [f"**{escaped(table.caption)}**", "", head, "|" + "---|" * len(table.heads)]
    return "\n".join([*above, *rows, "", *[f"{escaped(note)}  " for note in table.notes], ""])


def latex(table: Table) -> str:
    r"""Write the table as a `table` float with booktabs rules; notes follow it in small type.

    It needs `\usepackage{booktabs}` and, as texts may hold any letter, UTF-8 input. No text of it
    is a command.
    """

    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in clean_line(text))

    head, *rows = [" & ".join(map(escaped, row)) + r" \\" for row in (table.heads, *table.rows)]
    sides = "".join("l" if head in table.texts else "r" for head in table.heads)
    notes = [rf"\par\smallskip{{\footnotesize {escaped(note)}}}" for note in table.notes]
    above = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    above += [rf"\caption{{{escaped(table.caption)}}}", rf"\begin{{tabular}}{{{sides}}}"]
    body = [r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*above, *body, *notes, r"\end{table}", ""])


def csv_text(table: Table) -> str:
    """Write heads and rows by RFC 4180, without caption and notes, lines ended by a newline.

    A cell that a spreadsheet would run as a formula is led by an apostrophe; numbers are not.
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for row in (table.heads, *table.rows):
        cells = map(clean_line, row)
        writer.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells])
    return lines.getvalue()


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "markdown": markdown, "latex": latex, "csv": csv_text,
}  # fmt: skip
