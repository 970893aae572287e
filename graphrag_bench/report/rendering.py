"""A table as a value: for the terminal by rich, and as markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from graphrag_bench.terminal import clean_line, raw

MISSING = "–"
FEW = 10
"""The number of questions below which no interval is printed."""
WIDTH = 100
"""Characters of a line where the output is not a terminal and `COLUMNS` is not set."""
_FOLDED = 12
"""Columns that a text has at least where it folds."""
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

    Columns of the heads `texts` are set flush left. The last `apart` rows stand below a rule.
    `advice` says what to read or run next, not in LaTeX.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)
    apart: int = 0
    advice: tuple[str, ...] = ()


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


def shown_interval(low: float, high: float, n: int, form: str = ".2f") -> str:
    """Return the interval that follows a mean of n values; "" for fewer than `FEW`."""
    return f" [{low:{form}}, {high:{form}}]" if n >= FEW else ""


def shown_part(n: int, whole: int) -> str:
    """Return ` (n of whole)`; "" where n is all of them."""
    return f" ({n:,} of {whole:,})" if n != whole else ""


def shown_mean(mean: Mapping[str, Any] | None, whole: int | None = None, marks: str = "") -> str:
    """Return a stored mean with marks, interval and, below `whole`, its n; `MISSING` for None."""
    if not mean:
        return MISSING
    n, interval = mean["n"], shown_interval(mean["low"], mean["high"], mean["n"])
    return f"{mean['mean']:.3f}{marks}{interval}{shown_part(n, whole or n)}"


def show(table: Table) -> None:
    """Print the table by rich, as wide as the terminal, `COLUMNS`, or else `WIDTH`.

    A table that is too wide has heads of two lines, then folded texts, then several grids.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width, height = shutil.get_terminal_size((WIDTH, 24))
    console = Console(file=raw(sys.stdout), width=width, height=height)
    heads, *rows = [[clean_line(cell) for cell in row] for row in (table.heads, *table.rows)]
    if 1 + sum(_widths(heads, rows)) > width:
        heads = [_two_lines(head) for head in heads]
    texts = [at for at, head in enumerate(table.heads) if head in table.texts]
    console.print(Text(clean_line(table.caption), style="italic"))
    for columns, fits in _grids(_widths(heads, rows), texts, width - 1):
        grid = RichTable()
        for at in columns:
            side: Any = "left" if at in texts else "right"
            whole = fits and at not in texts
            grid.add_column(Text(heads[at]), justify=side, overflow="fold", no_wrap=whole)
        for place, row in enumerate(rows, 1):
            end = place == len(rows) - table.apart
            grid.add_row(*(Text(row[at]) for at in columns), end_section=end)
        console.print(grid)
    for note in (*table.notes, *table.advice):  # a command is to be copied, a pipe to be searched
        whole = not console.is_terminal or "graphrag-bench " in note
        console.print(Text(clean_line(note), style="dim"), soft_wrap=whole)


def show_tables(tables: Iterable[Table], *, as_json: bool = False) -> None:
    """Print tables as `show` does, or as JSON: captions, notes and rows of texts by head."""
    if not as_json:
        for table in tables:
            show(table)
        return
    written = [
        {
            "caption": table.caption,
            "rows": [dict(zip(table.heads, row, strict=True)) for row in table.rows],
            "notes": [*table.notes, *table.advice],
        }
        for table in tables
    ]
    sys.stdout.write(json.dumps(written, ensure_ascii=False, indent=1) + "\n")


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column with a rule and two spaces."""
    from rich.cells import cell_len

    columns = zip(heads, *rows, strict=True)
    return [3 + max(cell_len(line) for cell in of for line in cell.split("\n")) for of in columns]


def _grids(
    widths: Sequence[int], texts: Sequence[int], room: int
) -> Iterator[tuple[Sequence[int], bool]]:
    """Yield the columns of each grid, and whether its numbers fit where its texts fold.

    Several have as many numbers as fit beside the texts in each.
    """
    every = range(len(widths))
    folded = [min(width, 3 + _FOLDED) if at in texts else width for at, width in enumerate(widths)]
    numbers = [at for at in every if at not in texts]
    beside = room - sum(widths[at] for at in texts)
    if sum(folded) <= room or any(widths[at] > beside for at in numbers):
        yield every, sum(folded) <= room
        return
    while numbers:
        ends = accumulate(widths[at] for at in numbers)
        n = sum(end <= beside for end in ends)
        yield [*texts, *numbers[:n]], True
        numbers = numbers[n:]


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
    below = [f"{escaped(note)}  " for note in (*table.notes, *table.advice)]
    return "\n".join([*above, *rows, "", *below, ""])


def latex(table: Table) -> str:
    """Write a `table` float with booktabs rules and notes below, in UTF-8; no text is a command.

    Its label is `tab:` and the words of the caption before a bracket.
    """

    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in clean_line(text))

    head, *rows = [" & ".join(map(escaped, row)) + r" \\" for row in (table.heads, *table.rows)]
    rows[len(rows) - table.apart : len(rows) - table.apart] = [r"\midrule"] * bool(table.apart)
    sides = "".join("l" if head in table.texts else "r" for head in table.heads)
    notes = [rf"\par\smallskip{{\footnotesize {escaped(note)}}}" for note in table.notes]
    above = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    words = re.findall("[a-z0-9]+", table.caption.partition(" (")[0].lower())
    above += [rf"\caption{{{escaped(table.caption)}}}", rf"\label{{tab:{'-'.join(words)}}}"]
    above += [rf"\begin{{tabular}}{{{sides}}}"]
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
