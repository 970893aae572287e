"""Tables as LaTeX (booktabs) and CSV, and the choice among the formats; cell texts are escaped."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Literal, get_args

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.rendering import Table, markdown
from graphrag_bench.terminal import clean_line

Format = Literal["terminal", "markdown", "latex", "csv"]
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "–": "--", "†": r"$^\dagger$", "ρ": r"$\rho$", "τ": r"$\tau$", "±": r"$\pm$", "−": "$-$",
    "[": "{[}", "]": "{]}",
}  # fmt: skip
_SPREADSHEET = ("=", "+", "-", "@")


def checked_format(name: str) -> Format:
    """The format of that name; raises UserError with the nearest ones."""
    for known in get_args(Format):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise UserError(f"There is no format '{name}'. {did_you_mean(name, get_args(Format))}")


def rendered(tables: Sequence[Table], form: Literal["markdown", "latex", "csv"]) -> str:
    """The tables one after another; in CSV each has its heads, with a blank line between them."""
    render = {"markdown": markdown, "latex": latex, "csv": csv_text}[form]
    return "\n".join(render(table) for table in tables)


def latex(table: Table) -> str:
    r"""The table as a `table` float with booktabs rules; notes follow it in small type.

    It asks for `\usepackage{booktabs}` and, as texts may hold any letter, for UTF-8 input.
    """
    columns = "".join("l" if head in table.texts else "r" for head in table.heads)
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.heads),
        r"\midrule",
        *map(_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    lines += [rf"\par\smallskip{{\footnotesize {escaped(note)}}}" for note in table.below]
    return "\n".join([*lines, r"\end{table}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """The text as LaTeX prints it, on one line: no sign of it is a command."""
    return "".join(_LATEX.get(sign, sign) for sign in clean_line(text))


def csv_text(table: Table) -> str:
    """Heads and rows by RFC 4180, without caption and notes, lines ended by a newline.

    A cell that a spreadsheet would run as a formula is led by an apostrophe; numbers are not.
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for row in (table.heads, *table.rows):
        writer.writerow([_harmless(cell) for cell in row])
    return lines.getvalue()


def _harmless(cell: str) -> str:
    text = clean_line(cell)
    if not text.startswith(_SPREADSHEET) or _is_number(text):
        return text
    return f"'{text}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
