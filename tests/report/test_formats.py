r"""LaTeX and CSV hold what a table holds, and no text of a corpus or model becomes a command."""

from __future__ import annotations

import csv
import io

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.report.formats import checked_format, csv_text, escaped, latex, rendered
from graphrag_bench.report.rendering import Table

TABLE = Table("a_b: 50 %", ("method", "accuracy"), (("A & B", "0.5"), ("C", "–")), ("† note",))


def test_latex_is_a_float_with_booktabs_rules() -> None:
    assert latex(TABLE).splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\caption{a\_b: 50 \%}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"method & accuracy \\",
        r"\midrule",
        r"A \& B & 0.5 \\",
        r"C & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip{\footnotesize $^\dagger$ note}",
        r"\end{table}",
    ]


def test_no_sign_of_a_text_is_a_latex_command() -> None:
    assert escaped(r"\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"
    assert escaped("a\nb\x1b[2J$x_1^2~#%&") == (
        r"a b {[}2J\$x\_1\textasciicircum{}2\textasciitilde{}\#\%\&"
    )
    assert escaped("[0.1, 0.2]") == "{[}0.1, 0.2{]}"  # at the start of a row it would be a length


def test_csv_is_read_back_as_it_was() -> None:
    nasty = Table("", ("a", "b"), (('x "y", z', "line\nbreak"), ("-1.5", "+0.2")), ())
    read = list(csv.reader(io.StringIO(csv_text(nasty))))
    assert read == [["a", "b"], ['x "y", z', "line break"], ["-1.5", "+0.2"]]


@pytest.mark.parametrize("formula", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3"])
def test_a_spreadsheet_runs_no_cell_of_a_csv(formula: str) -> None:
    text = csv_text(Table("", ("a",), ((formula,),), ()))
    assert next(iter(list(csv.reader(io.StringIO(text)))[1])) == f"'{formula}"


def test_several_tables_stand_one_after_another() -> None:
    assert rendered([TABLE, TABLE], "latex").count(r"\begin{table}") == 2
    assert rendered([TABLE], "markdown").startswith("**a_b: 50 %**")
    assert rendered([TABLE, TABLE], "csv").count("method,accuracy") == 2


def test_an_unknown_format_is_answered_with_the_nearest() -> None:
    assert checked_format("latex") == "latex"
    with pytest.raises(UserError, match="no format 'latx'.*latex"):
        checked_format("latx")
