"""The table of the terminal: one question in 100 columns, and where the rest is."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from test_tables import run as of_four

from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import Compared, Comparison, comparisons
from graphrag_bench.report.notes import build_faults, run_notes
from graphrag_bench.report.rendering import MISSING, Table, show
from graphrag_bench.report.tables import (
    checked_columns,
    headline_table,
    main_metric,
    run_table,
    shown_tables,
)

PART = {"calls": 2, "prompt_tokens": 1200, "completion_tokens": 30, "usd": 0.0,
        "retries": 0}  # fmt: skip
BASE = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]


def cost(usd: float = 0.0) -> dict[str, Any]:
    part = {**PART, "usd": usd}
    step = {"paid": part, "cached": part, "truncated": 0}
    return {"steps": {"generate.0": step}, "mixed": False}


def run(title: str, values: Sequence[float] = BASE, **fields: Any) -> dict[str, Any]:
    """What `metrics.json` holds of a run of six questions, with what their accuracies are."""
    mean = {"mean": sum(values) / len(values), "low": 0.1, "high": 0.9, "n": 6}
    usage = {"tokens_per_question": 10.0, "context_tokens_per_question": 1834.4}
    of_six = {"n": 6, "selected": 6, "answered": 6, "usage": usage, "embedder": "mini"}
    metrics = {"evidence_recall@5": mean, "accuracy": mean}
    more = {"method": title.lower(), "values": values, "metrics": metrics, "cost": cost()}
    return of_four(title, key=title, **(of_six | more | fields))


def compared(runs: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    scored = [
        Compared(one, {f"q{n}": {"accuracy": v, "f1": v} for n, v in enumerate(one["values"])})
        for one in runs
    ]
    return comparisons(scored, "vanilla")


def table(*runs: Mapping[str, Any], **settings: Any) -> Table:
    return headline_table(runs, compared(runs), **settings)


def cells(result: Table, head: str) -> list[str]:
    return [row[result.heads.index(head)] for row in result.rows]


def test_the_share_of_cut_answers_is_a_column_where_any_was_cut() -> None:
    cut = table(run("Vanilla"), run("Long", answers_cut=0.25))
    assert cells(cut, "answers cut") == ["0.0%", "25.0%"]
    whole = run_table([run("Vanilla"), run("Long", answers_cut=0.25)])
    assert cells(whole, "answers cut") == ["0.0%", "25.0%"]
    for none in (table(run("Vanilla", answers_cut=0.0)), run_table([run("Vanilla")])):
        assert "answers cut" not in none.heads


def test_chunks_whose_extraction_is_not_whole_are_a_line_of_every_table() -> None:
    faulty = {"chunks": 200, "failed_chunks": 1, "malformed_chunks": 0, "cut_chunks": 2,
              "faulty_chunks": 3}  # fmt: skip
    runs = [run(name, extraction_statistics=faulty) for name in ("One", "Two")]
    runs += [run("Whole", extraction_statistics={**faulty, "faulty_chunks": 0}), run("Vanilla")]
    (line,) = build_faults(runs)
    assert "1.5% of 200" in line and line.endswith(": One, Two")
    assert all(part in line for part in ("1 failed", "0 malformed", "2 cut"))
    assert line in run_notes(runs)
    notes = headline_table([run("Whole", whole_corpus=True), *runs]).notes
    assert line in notes and any("whole corpus" in note for note in notes)


def test_it_has_the_metric_the_difference_with_p_the_context_and_the_cost() -> None:
    result = table(run("Vanilla"), run("Better", [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]), run("Same"))
    assert result.heads == (
        "method", "n", "accuracy [95 %]", "minus Vanilla", "p (Holm, 2 tests)", "context tokens",
        "cost, tokens",
    )  # fmt: skip
    first = ("Vanilla", "6", "0.333", MISSING, MISSING, "1,834", "2,460")
    assert result.rows[0] == first
    assert cells(result, "minus Vanilla") == [MISSING, "+0.333", "+0.000"]


def test_rows_keep_their_differences_where_the_table_orders_runs_anew() -> None:
    oracle = run("Oracle", [1.0] * 6, role="ceiling")
    result = table(oracle, run("Better", [1.0] * 6), run("Vanilla"))
    assert [row[0] for row in result.rows] == ["Better", "Vanilla", "Oracle"]
    assert cells(result, "minus Vanilla") == ["+0.667", MISSING, MISSING]


def test_the_main_metric_is_the_one_asked_for_or_that_of_answers_or_evidence() -> None:
    mean = run("A")["metrics"]["accuracy"]
    cuts = {f"evidence_recall@{k}": mean for k in (2, 10, 3)}
    assert [main_metric([run("A", **of)]) for of in ({}, {"metrics": cuts}, {"metrics": {}})] == [
        "accuracy", "evidence_recall@10", "accuracy",
    ]  # fmt: skip
    assert main_metric([run("A")], "f1") == "f1"


def test_the_main_metric_is_that_of_most_questions_and_fewer_have_their_n_in_the_cell() -> None:
    few = {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 4}
    recall = {"mean": 0.939, "low": 0.9, "high": 0.97, "n": 60}
    sizes = {"n": 70, "selected": 70, "answered": 5}
    metrics = {"accuracy": few, "evidence_recall@5": recall}
    part = run("Part", metrics=metrics, **sizes)
    assert main_metric([part]) == "evidence_recall@5"
    assert cells(table(part), "evidence_recall@5 [95 %]") == ["0.939 [0.90, 0.97] (60 of 70)"]
    whole = run("Whole", metrics={"accuracy": {**few, "n": 70}}, **sizes)
    assert main_metric([part, whole]) == "accuracy"
    assert cells(table(part, whole, metric="accuracy"), "accuracy [95 %]") == [
        "0.000 (4 of 70)", "0.000 [0.00, 0.00]",
    ]  # fmt: skip
    (row,) = run_table([part]).rows
    assert "0.000 (4 of 70)" in row and "0.939 [0.90, 0.97] (60 of 70)" in row


def test_costs_at_several_prices_of_a_model_are_a_warning() -> None:
    runs = [run(title, prices={"m:1": price}) for title, price in (("A", "1 / 2"), ("B", "2 / 4"))]
    assert any("1 / 2: A; 2 / 4: B" in note for note in run_notes(runs) if note[0] == "!")
    assert not any("prices" in note for note in run_notes([runs[0], runs[0]]))


def test_money_is_the_cost_where_any_run_has_cost_some() -> None:
    result = table(run("Vanilla"), run("Dear", cost=cost(0.25)))
    assert cells(result, "cost, USD") == ["0.0000", "0.5000"]
    assert "cost, tokens" not in result.heads


def test_failed_questions_have_a_column_a_mark_and_the_first_warning() -> None:
    result = table(
        run("Vanilla", flags=["names everything"]), run("Failing", failed=2, errors=["2 x a.0: no"])
    )
    assert cells(result, "failed") == ["0", "2"]
    assert cells(result, "accuracy [95 %]")[1] == "0.333!"
    assert result.notes[1].startswith("! 2 failed, run again: 2 x a.0")
    assert result.notes[2:] == ("! Vanilla: names everything",)
    assert "failed" not in table(run("Vanilla")).heads


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_a_coloured_terminal_with_every_note_whole_and_every_number(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    long = "PathCoRAG with damping=0.15, top_k=20, retrieve.1.cases.otherwise.0.weights=degree"
    runs = [run("Vanilla"), run(long, failed=1, llm="x" * 90), run("Other", flags=["y" * 120])]
    result = table(*runs)
    show(result)
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, text.splitlines())) <= width
    for name in ("x" * 90, "y" * 120):
        assert name in "".join(text.split())
    assert "docs/" in result.advice[-1]
    numbers = ["0.333!", "1,834", "2,460", "+0.000"]
    assert all(number in text for number in numbers), text


def test_all_columns_are_the_tables_of_a_run_folder_and_more() -> None:
    runs = [run("Vanilla"), run("Better", [1.0] * 6)]
    result = shown_tables(runs, compared(runs), columns="all")
    assert "evidence@5 [95 %]" in result[0].heads
    assert result[1].caption == "differences from Vanilla"
    assert result[2].caption == "what the runs have cost"
    assert len(shown_tables(runs, compared(runs))) == 1
    with pytest.raises(UserError, match="Did you mean 'all'"):
        checked_columns("al")
