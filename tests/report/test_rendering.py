r"""Tables fit the terminal, and their texts are escaped in every format."""

import csv
import io
from dataclasses import replace

import pytest
from rich.cells import cell_len

from graphrag_bench.report.rendering import Table, csv_text, latex, markdown, show

TABLE = Table("a_b: 50 %", ("method", "accuracy"), (("A & B", "0.5"), ("C", "–")), ("† note",))


@pytest.mark.parametrize("columns", ["", "60", "100"])
def test_a_table_fits_the_width(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    heads = ("method", *[f"evidence_recall@{k} [95 %]" for k in range(8)])
    cells = tuple(f"0.{k}00 [0.00, 0.{k}9]" for k in range(8))
    title = "方法" * 60 + " retrieve.1.cases.otherwise.0.weights=" + "degree" * 20
    show(Table("caption", heads, ((title, *cells),), ("a note " * 30,)))
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith(("┏", "┃", "│", "└"))]
    assert {cell_len(line) for line in lines} == {int(columns or 100)}
    assert out.count("方") == 60 and "…" not in out
    assert "a note " * 29 in out


def test_a_wide_table_is_split_without_cutting_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    heads = ("method", "n", *[f"evidence_recall@{k} [95 %]" for k in range(8)])
    cells = ("entity-passage graph", "70", *[f"0.{k}00 [0.00, 0.{k}9]" for k in range(8)])
    show(Table("", heads, (cells,), ()))
    lines = [one for one in capsys.readouterr().out.splitlines() if one.startswith("│")]
    shown = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert [cell for row in shown for cell in row if cell != cells[0]] == list(cells[1:])
    assert [row[0] for row in shown] == [cells[0]] * 3


def test_a_command_in_a_note_is_printed_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    note = f"missing cells: graphrag-bench run -m method={','.join(['hipporag'] * 12)}"
    show(Table("", ("method",), (("BM25",),), (note,)))
    assert note in capsys.readouterr().out


def test_markdown_is_escaped() -> None:
    table = Table("a|b", ("method",), (("x | <i>`y`\\\nz\x1b\r\u202e",),), ("note",))
    assert markdown(table).splitlines() == [
        r"**a\|b**", "", "| method |", "|---|", r"| x \| \<i\>\`y\`\\ z    |", "", "note  ",
    ]  # fmt: skip


def test_latex_is_a_float_with_booktabs_rules() -> None:
    advised = replace(TABLE, advice=("run this next",))
    assert "run this next" in markdown(advised)
    assert latex(advised).splitlines() == [
        r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering",
        r"\caption{a\_b: 50 \%}", r"\label{tab:a-b-50}", r"\begin{tabular}{lr}", r"\toprule",
        r"method & accuracy \\",
        r"\midrule", r"A \& B & 0.5 \\", r"C & -- \\", r"\bottomrule", r"\end{tabular}",
        r"\par\smallskip{\footnotesize $^\dagger$ note}", r"\end{table}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a\nb\x1b[2J$x_1^2~#%&", r"a b {[}2J\$x\_1\textasciicircum{}2\textasciitilde{}\#\%\&"),
        ("[0.1, 0.2]", "{[}0.1, 0.2{]}"),  # LaTeX reads [..] at the start of a row as a length
    ],
)
def test_latex_is_escaped(text: str, escaped: str) -> None:
    assert rf"\caption{{{escaped}}}" in latex(Table(text, ("a",), (), ()))


def test_csv_is_read_back_unchanged_and_has_no_formulas() -> None:
    nasty = Table("", ("a", "b"), (('x "y", z', "line\nbreak"), ("-1.5", "+0.2")), ())
    read = [*csv.reader(io.StringIO(csv_text(nasty)))]
    assert read == [["a", "b"], ['x "y", z', "line break"], ["-1.5", "+0.2"]]
    for formula in ("=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "-1.5.A"):
        assert csv_text(Table("", ("a",), ((formula,),), ())).splitlines()[1].startswith("'")
