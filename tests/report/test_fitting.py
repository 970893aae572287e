"""A table that is wider than the terminal stands in blocks, and loses no number."""

from __future__ import annotations

import pytest

from graphrag_bench.report.fitting import Column, blocks
from graphrag_bench.report.rendering import Table, show

MEANS = Table(
    "means",
    ("method", "n", "accuracy [95 %]", "F1 [95 %]"),
    (("closed-book", "70", "0.200 [0.10, 0.30]", "0.300 [0.20, 0.40]"),),
    (),
)


def test_a_table_that_fits_is_one_block_of_its_own_widths() -> None:
    # 11 + 2 + 18 + 18 signs, 4 x 3 for the lines between, 1 for the last
    assert blocks(MEANS, 62) == [[Column(0, 11), Column(1, 2), Column(2, 18), Column(3, 18)]]


def test_numbers_that_do_not_fit_stand_below_beside_the_method_again() -> None:
    assert blocks(MEANS, 61) == [
        [Column(0, 11), Column(1, 2), Column(2, 18)],
        [Column(0, 11), Column(3, 18)],
    ]


def test_heads_are_wrapped_before_a_column_moves_below() -> None:
    table = Table("", ("method", "cached calls", "retries"), (("BM25", "7", "0"),), ())
    assert blocks(table, 33) == [[Column(0, 6), Column(1, 6), Column(2, 7)]]


def test_texts_are_made_narrower_before_a_number_moves_below() -> None:
    table = Table("", ("method", "n"), (("HippoRAG with a long list of settings", "70"),), ())
    assert blocks(table, 40) == [[Column(0, 31), Column(1, 2)]]


def test_a_word_is_broken_only_where_nothing_else_is_left() -> None:
    cells = ("evidence_at_tokens@1000 on toy", "0.123", "0.456")
    table = Table("", ("metric", "A", "B"), (cells,), (), texts=("metric",))
    assert blocks(table, 43) == [[Column(0, 23), Column(1, 5), Column(2, 5)]]
    assert blocks(table, 30) == [[Column(0, 18), Column(1, 5)], [Column(0, 18), Column(2, 5)]]


def test_texts_that_lead_take_half_of_the_width_at_most_where_there_are_several_blocks() -> None:
    table = Table("", ("method", "a", "b"), (("m" * 80, "1" * 10, "2" * 30),), ())
    assert blocks(table, 50) == [[Column(0, 22), Column(1, 10)], [Column(0, 22), Column(2, 30)]]


def test_chinese_signs_take_two_places() -> None:
    assert blocks(Table("", ("method",), (("方法",),), ()), 80) == [[Column(0, 6)]]
    assert blocks(Table("", ("m",), (("方法",),), ()), 80) == [[Column(0, 4)]]


@pytest.mark.parametrize("width", [40, 70, 100])
def test_every_number_is_printed_whole_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("graphrag_bench.report.rendering._WIDTH", width)
    heads = ("method", *[f"evidence_recall@{k} [95 %]" for k in range(8)])
    cells = tuple(f"0.{k}00 [0.00, 0.{k}9]" for k in range(8))
    show(Table("a caption that is longer than its table", heads, (("BM25", *cells),), ()))
    printed = capsys.readouterr().out
    assert [cell for cell in cells if cell not in printed] == []
    assert max(map(len, printed.splitlines())) <= width
    assert printed.startswith("a caption that is longer than its table")
    assert "…" not in printed
