"""A table that is wider than the terminal stands in blocks, and loses no number."""

from __future__ import annotations

import shlex

import pytest

from graphrag_bench.report.fitting import Column, blocks, fitted
from graphrag_bench.report.lean import folded
from graphrag_bench.report.rendering import MISSING, Table, show
from graphrag_bench.report.tables import run_table

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


def test_a_command_under_a_table_is_never_broken_inside_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ",".join(f"method_{n}" for n in range(12))
    command = f"graphrag-bench run -m dataset=sample method={methods} llm.model='a b' limit=20"
    note = f"missing cells: {command}"
    table = Table("", ("method",), (("BM25",),), (note, "prose " * 30))
    show(table)
    assert note in capsys.readouterr().out.splitlines()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")  # of 80 signs
    show(table)
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("missing cells:")
    end = next(n for n in range(at + 1, len(lines)) if not lines[n].endswith("\\"))
    pasted = "\n".join(lines[at + 1 : end + 1]).replace("\\\n", "")
    assert shlex.split(pasted) == shlex.split(command)
    assert all(len(line.rstrip()) <= 80 or methods in line for line in lines)


def of_five(constant: bool) -> list[dict[str, object]]:
    """Five runs with every column of a main table; with `constant` no fault and no fallback."""
    names = ("evidence_recall@2", "evidence_recall@5", "evidence_recall@10", "evidence_cut",
             "accuracy", "f1", "exact_match")  # fmt: skip
    runs = []
    for row, title in enumerate(("closed-book", "BM25", "VanillaRAG", "HippoRAG", "PathRAG")):
        means = {
            name: {
                "mean": 0.1 * row + 0.01 * at,
                "low": 0.08 * row,
                "high": 0.2 * row + 0.1,
                "n": 70,
            }
            for at, name in enumerate(names)
        }
        share = 0.0 if constant else 0.01 * row
        rates = {"generate.0": {"calls": 70, "failed": share, "unreadable": 0, "fallbacks": share}}
        runs.append({
            "title": title, "role": "floor" if not row else "", "profile": "default",
            "fidelity": "default", "dataset": "sample", "key": "0", "limit": None, "answer": "on",
            "n": 70, "selected": 70, "failed": 0, "answered": 70, "errors": [], "rates": rates,
            "fell_back": 0 if constant else row, "fallbacks": {} if constant else {"why": row},
            "metrics": means, "cost": {"steps": {}, "mixed": False}, "estimate": {},
            "usage": {"tokens_per_question": 100.0 * row + 1800,
                      "context_tokens_per_question": 100.0 * row + 1700},
            "settings": {}, "llm": "model", "llm_build": "", "embedder": "hashing",
            "extraction": "", "extraction_statistics": {}, "commit": "abc", "tokenizer": "cl100k",
        })  # fmt: skip
    return runs


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("constant", [True, False])
def test_five_methods_are_two_stacked_tables_at_most(width: int, constant: bool) -> None:
    table, held = fitted(run_table(of_five(constant)), width)
    assert len(held) <= 2
    assert max(sum(c.width + 3 for c in block) + 1 for block in held) <= width
    shown = [cell.split()[0] for row in table.rows for cell in row]
    assert [f"{0.1 * row + 0.04:.3f}" in shown for row in range(5)] == [True] * 5


def test_what_every_row_says_is_told_in_one_line_below() -> None:
    table = run_table(of_five(constant=True))
    lean = folded(table)
    assert "n" not in lean.heads
    assert "faults" not in lean.heads
    assert lean.notes[0] == (
        "the same in every row: n 70; failed 0; answered 70 (70); faults 0.0%; fallback calls 0.0%"
    )
    assert "faults: share of the LLM calls" in lean.below[-1]
    assert folded(run_table(of_five(constant=True)[:1])).heads == table.heads


def test_a_column_of_dashes_is_left_out_with_its_explanation() -> None:
    about = (("b", "what b is"), ("c", "what c is"))
    rows = (("A", MISSING, "1"), ("B", MISSING, "2"))
    table = Table("", ("method", "b", "c"), rows, (), about=about, folds=True)
    lean = folded(table)
    assert lean.heads == ("method", "c")
    assert lean.below == ("c: what c is",)


def test_intervals_go_below_their_means_only_where_the_width_needs_it() -> None:
    table = run_table(of_five(constant=False))
    wide, _ = fitted(table, 260)
    assert "0.240 [0.16, 0.50]" in wide.rows[2]
    narrow, _ = fitted(table, 80)
    assert "0.240\n.16–.50" in narrow.rows[2]
    assert narrow.notes[0] == "below each mean its 95 % interval"
