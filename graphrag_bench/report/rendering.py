"""Tables and their output formats: terminal (rich), JSON, Markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from graphrag_bench.terminal import clean_line, unwrapped

MISSING = "–"
FEW = 10
"""Minimum number of questions for which a confidence interval is printed."""
_FOLDED = 12
"""Minimum width of a column whose texts are broken into several lines."""
_MARKDOWN = re.compile(r"([\\|<>`])")
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "–": "--", "†": r"$^\dagger$", "ρ": r"$\rho$", "τ": r"$\tau$", "±": r"$\pm$", "−": "$-$",
    "[": "{[}", "]": "{]}",
}  # fmt: skip
_FORMULA = re.compile(r"[=@+-](?!\.?\d[\d.]*(e[+-]?\d+)?$)")
"""Start of a spreadsheet formula: a sign that is not followed by a number."""


@dataclass(frozen=True)
class Table:
    """Table of texts with a caption and notes.

    `texts` lists the headings of left-aligned columns. A line separates the last `n_separate` rows.
    `advice` has notes on what to read or run next, which the LaTeX output leaves out.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)
    n_separate: int = 0
    advice: tuple[str, ...] = ()


def format_n(run: Mapping[str, Any]) -> str:
    """Return the number n of questions with results, or `n of m` if more (m) were selected."""
    return str(run["n"]) if run["n"] == run["selected"] else f"{run['n']} of {run['selected']}"


def p_column(numbers: Iterable[int]) -> str:
    """Return the heading of a column of Holm-corrected p-values, with the numbers of tests."""
    sizes = sorted({*numbers})
    ends = "-".join(map(str, dict.fromkeys([*sizes[:1], *sizes[-1:]])))
    return "p" if sizes in ([], [1]) else f"p (Holm, {ends} tests)"


def format_p(p: float) -> str:
    """Return a p-value with four decimals, or `<0.0001`."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def format_interval(low: float, high: float, n: int, form: str = ".2f") -> str:
    """Return ` [low, high]` for a mean of n values, or "" for fewer than `FEW` values."""
    return f" [{low:{form}}, {high:{form}}]" if n >= FEW else ""


def format_part(n: int, whole: int) -> str:
    """Return ` (n of whole)`, or "" if n equals `whole`."""
    return f" ({n:,} of {whole:,})" if n != whole else ""


def format_mean(mean: Mapping[str, Any] | None, whole: int | None = None, marks: str = "") -> str:
    """Return a mean of `metrics.json` as text with its interval, or a dash if there is no mean.

    `marks` are written after the mean. The number of questions is added if it is below `whole`.

    >>> format_mean({"mean": 0.802, "low": 0.74, "high": 0.86, "n": 100})
    '0.802 [0.74, 0.86]'
    """
    if not mean:
        return MISSING
    n, interval = mean["n"], format_interval(mean["low"], mean["high"], mean["n"])
    return f"{mean['mean']:.3f}{marks}{interval}{format_part(n, whole or n)}"


def show(table: Table) -> None:
    """Print a table; if it is too wide, break headings, then texts, and then split the columns."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width, height = shutil.get_terminal_size(fallback=(100, 24))
    console = Console(file=unwrapped(sys.stdout), width=width, height=height)
    heads, *rows = [[clean_line(cell) for cell in row] for row in (table.heads, *table.rows)]
    if 1 + sum(_widths(heads, rows)) > width:
        heads = [_two_lines(head) for head in heads]
    texts = [at for at, head in enumerate(table.heads) if head in table.texts]
    console.print(Text(clean_line(table.caption), style="italic"))
    for columns, fits in _column_groups(_widths(heads, rows), texts, width - 1):
        grid = RichTable()
        for at in columns:
            side: Any = "left" if at in texts else "right"
            whole = fits and at not in texts
            grid.add_column(Text(heads[at]), justify=side, overflow="fold", no_wrap=whole)
        for place, row in enumerate(rows, 1):
            end = place == len(rows) - table.n_separate
            grid.add_row(*(Text(row[at]) for at in columns), end_section=end)
        console.print(grid)
    for note in (*table.notes, *table.advice):  # not wrapped, so that users can copy or search
        whole = not console.is_terminal or "graphrag-bench " in note
        console.print(Text(clean_line(note), style="dim"), soft_wrap=whole)


def show_tables(tables: Iterable[Table], *, as_json: bool = False) -> None:
    """Print tables with `show`, or as JSON with captions, notes and an object for each row."""
    if not as_json:
        for table in tables:
            show(table)
        return
    show_json([
        {"caption": one.caption,
         "rows": [dict(zip(one.heads, row, strict=True)) for row in one.rows],
         "notes": [*one.notes, *one.advice]}
        for one in tables
    ])  # fmt: skip


def show_json(value: object) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    columns = zip(heads, *rows, strict=True)
    return [3 + max(cell_len(line) for cell in of for line in cell.split("\n")) for of in columns]


def _column_groups(
    widths: Sequence[int], texts: Sequence[int], room: int
) -> Iterator[tuple[Sequence[int], bool]]:
    """Yield the columns of each part of a table, and whether the part's numbers fit on one line."""
    every = range(len(widths))
    folded = sum(min(widths[at], 3 + _FOLDED) if at in texts else widths[at] for at in every)
    repeated = texts if 2 * sum(widths[at] for at in texts) <= room else texts[:1]
    others = [at for at in every if at not in repeated]
    beside = room - sum(widths[at] for at in repeated)
    if folded <= room and repeated == texts or any(widths[at] > beside for at in others):
        yield every, folded <= room
        return
    while others:
        n = sum(end <= beside for end in accumulate(widths[at] for at in others))
        yield [*repeated, *others[:n]], True
        others = others[n:]


def _two_lines(head: str) -> str:
    words = head.split()
    pairs = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return "\n".join(min(pairs, key=lambda pair: max(map(len, pair)), default=(head,)))


def markdown(table: Table) -> str:
    """Return a table in GitHub-flavored Markdown, with all texts escaped."""

    def escaped(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", clean_line(text))

    head, *rows = [f"| {' | '.join(map(escaped, row))} |" for row in (table.heads, *table.rows)]
    above = [f"**{escaped(table.caption)}**", "", head, "|" + "---|" * len(table.heads)]
    below = [f"{escaped(note)}  " for note in (*table.notes, *table.advice)]
    return "\n".join([*above, *rows, "", *below, ""])


def latex(table: Table) -> str:
    """Return a table as a LaTeX float (`table`) with booktabs rules, with all texts escaped."""

    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in clean_line(text))

    head, *rows = [" & ".join(map(escaped, row)) + r" \\" for row in (table.heads, *table.rows)]
    if table.n_separate:
        rows.insert(len(rows) - table.n_separate, r"\midrule")
    sides = "".join("l" if head in table.texts else "r" for head in table.heads)
    notes = [rf"\par\smallskip{{\footnotesize {escaped(note)}}}" for note in table.notes]
    above = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    words = re.findall("[a-z0-9]+", table.caption.partition(" (")[0].lower())
    above += [rf"\caption{{{escaped(table.caption)}}}", rf"\label{{tab:{'-'.join(words)}}}"]
    body = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *rows]
    below = [r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}", ""]
    return "\n".join([*above, *body, *below])


def csv_text(table: Table) -> str:
    """Return the headings and rows of a table as CSV that is safe to open in a spreadsheet."""
    lines, rows = io.StringIO(), (table.heads, *table.rows)
    cells = ([safe_cell(clean_line(cell)) for cell in row] for row in rows)
    csv.writer(lines, lineterminator="\n").writerows(cells)
    return lines.getvalue()


def safe_cell(text: str) -> str:
    """Add an apostrophe before a text if a spreadsheet would run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


FORMATS = {"markdown": markdown, "latex": latex, "csv": csv_text}
