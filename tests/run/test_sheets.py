"""Sheets: no cell is a formula to a spreadsheet, and every text comes back as it was."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.errors import UserError
from graphrag_bench.run.judged import guarded, read_sheet, unguarded, write_sheet


@given(st.text("'=+-@\t\rab", max_size=6))
def test_a_guarded_text_begins_no_formula_and_comes_back(text: str) -> None:
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(text)) == text


def test_cells_with_quotes_commas_and_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    row = ['=HYPERLINK("http://x","y")', "one, two; three\nfour", "'quoted'", ""]
    write_sheet(path, ["a", "b", "c", "d"], [row])
    assert read_sheet(path, ["a", "d"]) == [dict(zip("abcd", row, strict=True))]


def test_a_missing_column_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet(path, ["item", "overal"], [["1", "2"]])
    with pytest.raises(UserError, match="Did you mean 'overal"):
        read_sheet(path, ["item", "overall"])
