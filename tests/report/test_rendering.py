r"""Tables fit the terminal, and their texts are escaped in every format."""

import csv
import io
from dataclasses import replace

import pytest
from rich.cells import cell_len

from graphrag_bench.report.rendering import Table, csv_text, latex, markdown, show


@pytest.fixture
def lines(capsys, monkeypatch):
    """Return a function that shows a table in a terminal of some width, and returns the lines."""

    def shown(table, columns):
        monkeypatch.setenv("COLUMNS", columns)
        show(table)
        return capsys.readouterr().out.splitlines()

    return shown


def test_a_table_fits_the_width_and_a_note_is_printed_on_one_line(lines, monkeypatch):
    heads = ("method", *[f"evidence_recall@{k} [95 %]" for k in range(8)])
    cells = tuple(f"0.{k}00 [0.00, 0.{k}9]" for k in range(8))
    title = "方法" * 60 + " retrieve.1.cases.otherwise.0.weights=" + "degree" * 20
    note = f"missing cells: graphrag-bench run -m method={','.join(['hipporag'] * 12)}"
    for columns in ("", "60", "100"):
        out = lines(Table("caption", heads, ((title, *cells),), (note,)), columns)
        grid = [line for line in out if line.startswith(("┏", "┃", "│", "└"))]
        assert {cell_len(line) for line in grid} == {int(columns or 100)}
        text = "".join(out)
        assert text.count("方") == 60 and "…" not in text and note in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert any(note in line for line in lines(Table("", ("a",), (("b",),), (note,)), "60"))


def test_a_wide_table_is_split_without_cutting_numbers(lines):
    heads = ("method", "n", *[f"evidence_recall@{k} [95 %]" for k in range(8)])
    cells = ("entity-passage graph", "70", *[f"0.{k}00 [0.00, 0.{k}9]" for k in range(8)])
    out = [one for one in lines(Table("", heads, (cells,), ()), "100") if one.startswith("│")]
    shown = [[cell.strip() for cell in line.strip("│").split("│")] for line in out]
    assert [cell for row in shown for cell in row if cell != cells[0]] == list(cells[1:])
    assert [row[0] for row in shown] == [cells[0]] * 3


def test_markdown_is_escaped():
    table = Table("a|b", ("method",), (("x | <i>`y`\\\nz\x1b\r\u202e",),), ("note",))
    assert markdown(table).splitlines() == [
        r"**a\|b**", "", "| method |", "|---|", r"| x \| \<i\>\`y\`\\ z    |", "", "note  ",
    ]  # fmt: skip


def test_latex_is_escaped_in_a_float_with_booktabs_rules():
    """LaTeX reads [..] at the start of a row as a length."""
    table = Table("a_b: 50 %", ("method", "accuracy"), (("A & B", "0.5"), ("C", "–")), ("† note",))
    advised = replace(table, advice=("run this next",))
    assert "run this next" in markdown(advised)
    assert latex(advised).splitlines() == [
        r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering",
        r"\caption{a\_b: 50 \%}", r"\label{tab:a-b-50}", r"\begin{tabular}{lr}", r"\toprule",
        r"method & accuracy \\",
        r"\midrule", r"A \& B & 0.5 \\", r"C & -- \\", r"\bottomrule", r"\end{tabular}",
        r"\par\smallskip{\footnotesize $^\dagger$ note}", r"\end{table}",
    ]  # fmt: skip
    text = "\\input{/etc}\nb\x1b[2J$x_1^2~#%&"
    escaped = r"\textbackslash{}input\{/etc\} b {[}2J\$x\_1\textasciicircum{}2"
    escaped += r"\textasciitilde{}\#\%\&"
    assert rf"\caption{{{escaped}}}" in latex(Table(text, ("a",), (), ()))


def test_csv_is_read_back_unchanged_and_has_no_formulas():
    nasty = Table("", ("a", "b"), (('x "y", z', "line\nbreak"), ("-1.5", "+0.2")), ())
    read = [*csv.reader(io.StringIO(csv_text(nasty)))]
    assert read == [["a", "b"], ['x "y", z', "line break"], ["-1.5", "+0.2"]]
    for formula in ("=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "-1.5.A"):
        assert csv_text(Table("", ("a",), ((formula,),), ())).splitlines()[1].startswith("'")
