"""A table as a value: for the terminal by rich, and as markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

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
"""Signs of a line where the output is not a terminal and `COLUMNS` is not set."""
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

    `texts` are the heads of columns set flush left; the others hold numbers. `about` explains
    columns by their heads.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)
    about: tuple[tuple[str, str], ...] = ()

    @property
    def below(self) -> tuple[str, ...]:
        """The notes, and one that explains the columns."""
        said = "; ".join(f"{head.removesuffix(' [95 %]')}: {text}" for head, text in self.about)
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


def show(table: Table) -> None:
    """Print the table; its heads break where it is wider than the terminal, then its cells fold.

    `COLUMNS` is taken for the width where it is set, and `WIDTH` where the output is a file or a
    pipe.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width, height = shutil.get_terminal_size((WIDTH, 24))
    console = Console(file=raw(sys.stdout), width=width, height=height)
    wide = console.options.update(width=10**6)
    rows = [tuple(map(clean_line, row)) for row in table.rows]

    def drawn_with(heads: Iterable[str]) -> RichTable:
        drawn = RichTable()
        for name, head in zip(table.heads, heads, strict=True):
            left = name in table.texts
            drawn.add_column(Text(head), justify="left" if left else "right", overflow="fold")
        for row in rows:
            drawn.add_row(*map(Text, row))
        return drawn

    heads = [clean_line(head) for head in table.heads]
    drawn = drawn_with(heads)
    if console.measure(drawn, options=wide).maximum > width:
        drawn = drawn_with(map(_in_two_lines, heads))
    unbroken = console.measure(drawn, options=wide).minimum
    if unbroken > width:  # a number would break before its spaces go
        drawn.padding = 0
    console.print(Text(clean_line(table.caption), style="italic"))
    console.print(drawn)
    for note in table.below:  # a command in it is to be copied, and a pipe to be searched
        whole = not console.is_terminal or "graphrag-bench " in note
        console.print(Text(clean_line(note), style="dim"), soft_wrap=whole)


def _in_two_lines(head: str) -> str:
    """Two lines of which the longer one is shortest; a word stays one line."""
    words = head.split()
    pairs = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return "\n".join(min(pairs, key=lambda pair: max(map(len, pair)), default=(head,)))


def markdown(table: Table) -> str:
    """Write the table as GitHub markdown; no text of it is markup."""

    def escaped(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", clean_line(text))

    head, *rows = [f"| {' | '.join(map(escaped, row))} |" for row in (table.heads, *table.rows)]
    above = [f"**{escaped(table.caption)}**", "", head, "|" + "---|" * len(table.heads)]
    return "\n".join([*above, *rows, "", *[f"{escaped(note)}  " for note in table.below], ""])


def latex(table: Table) -> str:
    r"""Write the table as a `table` float with booktabs rules; notes follow it in small type.

    It needs `\usepackage{booktabs}` and, as texts may hold any letter, UTF-8 input. No text of it
    is a command.
    """

    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in clean_line(text))

    head, *rows = [" & ".join(map(escaped, row)) + r" \\" for row in (table.heads, *table.rows)]
    sides = "".join("l" if head in table.texts else "r" for head in table.heads)
    notes = [rf"\par\smallskip{{\footnotesize {escaped(note)}}}" for note in table.below]
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
