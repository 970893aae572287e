"""Tables of runs: titles, columns, main metric, differences and costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import Comparison, ScoredRun, comparisons
from graphrag_bench.report.rendering import MISSING, Table
from graphrag_bench.report.rows import best_run, in_table_order, selection_mark
from graphrag_bench.report.tables import (
    checked_columns,
    headline_table,
    main_metric,
    run_table,
    select_tables,
)

MEAN = {"mean": 0.25, "low": 0.0, "high": 0.5, "n": 4}


def cost(usd: float = 0.0) -> dict[str, Any]:
    part = {"calls": 2, "prompt_tokens": 1200, "completion_tokens": 30, "usd": usd, "retries": 1}
    return {"steps": {"generate.0 x": {"paid": part, "cached": part, "truncated": 3}},
            "mixed": False}  # fmt: skip


def run(title: str = "VanillaRAG", **fields: Any) -> dict[str, Any]:
    """The `metrics.json` of a run with four questions."""
    stored = {
        "title": title, "role": "", "profile": "default", "fidelity": "default",
        "dataset": "toy", "key": "0123456789ab", "limit": None, "method": title.lower(),
        "answer": "on", "n": 4, "selected": 4, "failed": 0, "answered": 4, "errors": [],
        "rates": {},
        "metrics": {"evidence_recall@2": MEAN, "accuracy": MEAN, "f1": MEAN, "exact_match": MEAN},
        "usage": {"tokens_per_question": 10.0, "context_tokens_per_question": 0.0},
        "cost": {"steps": {}, "mixed": False}, "estimate": {}, "settings": {}, "llm": "model",
        "llm_build": "", "embedder": "hashing", "extraction": "", "extraction_statistics": {},
        "commit": "abc", "tokenizer": "cl100k",
    }  # fmt: skip
    return stored | fields


def with_context(title: str, n_tokens: float, **fields: Any) -> dict[str, Any]:
    usage = {**run()["usage"], "context_tokens_per_question": n_tokens}
    return run(title, usage=usage, **fields)


def cells(result: Table, head: str) -> list[str]:
    return [row[result.heads.index(head)] for row in result.rows]


def damped(n: float, deep: float, **fields: Any) -> dict[str, Any]:
    return run(settings={"method.damping": n, "method.retrieve.1.damping": deep}, **fields)


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ([run("oracle", role="ceiling"), run(), run(dataset="sample")],
         ["toy: VanillaRAG", "toy: oracle", "sample: VanillaRAG"]),
        ([damped(0.3, 0.3), damped(0.5, 0.5)],
         ["VanillaRAG damping=0.3", "VanillaRAG damping=0.5"]),
        ([damped(0.3, 0.3), damped(0.3, 0.5)],
         ["VanillaRAG retrieve.1.damping=0.3", "VanillaRAG retrieve.1.damping=0.5"]),
        ([run(llm="a"), run(llm="b")], ["VanillaRAG llm=a", "VanillaRAG llm=b"]),
        ([run(key="aa"), run(key="bb")], ["VanillaRAG aa", "VanillaRAG bb"]),
        ([damped(0.3, 0.3, fill_context="on"), damped(0.3, 0.3, fill_context="off")],
         ["VanillaRAG fill_context=on", "VanillaRAG fill_context=off"]),
        ([run("HopRAG", verified="false"), run("DRIFT", verified="partly"), run(verified="true")],
         ["HopRAG (?)", "DRIFT (?)", "VanillaRAG"]),
        ([run("A", varied="top_k=4"), run()], ["A top_k=4", "VanillaRAG (reference)"]),
    ],
)  # fmt: skip
def test_titles_have_the_settings_that_differ(
    runs: Sequence[dict[str, Any]], wanted: Sequence[str]
) -> None:
    assert [one["title"] for one in in_table_order(runs)] == wanted


def test_the_caption_has_the_budgets_and_rows_are_grouped_by_budget() -> None:
    budgeted = with_context("B", 1.0, budget_context=2400)
    table = run_table([with_context("A", 1.0), budgeted, with_context("C", 1.0)])
    assert "native, 2,400 tokens for all" in table.caption
    assert [row[0] for row in table.rows] == ["A", "C", "B"]
    assert run_table([run()]).caption == "toy (regime: house; limit: all)"
    mixed = run_table([run("A"), run("B", regime="published")])
    assert "regime: house, published;" in mixed.caption
    assert cells(mixed, "regime") == ["house", "published"]


SPREAD = {"accuracy": {**MEAN, "mean": 0.3, "spread": 0.0216, "values": [0.28, 0.31, 0.32]}}


@pytest.mark.parametrize(
    ("one", "other", "columns"),
    [
        (run(metrics={"accuracy": MEAN}), run(metrics={"accuracy": MEAN, "f1": MEAN}),
         {"F1 [95 %]": [MISSING, "0.250"], "EM [95 %]": None}),
        (run(role="floor"), with_context("packed", 1834.4, metrics={"evidence_cut": MEAN}),
         {"cut [95 %]": [MISSING, "0.250"], "context": [MISSING, "1834"]}),
        (run(repeats={"n": 3, "questions": 4, "changed": 2, "metrics": SPREAD}), run(),
         {"accuracy [95 %]": ["0.300 ±0.022", "0.250"]}),
        (run(), run(answers_cut=0.25), {"answers cut": ["0.0%", "25.0%"]}),
        (run(), run(answers_cut=0.0), {"answers cut": None, "context": None}),
    ],
)  # fmt: skip
def test_a_column_is_shown_if_any_run_has_a_value(
    one: dict[str, Any], other: dict[str, Any], columns: dict[str, list[str] | None]
) -> None:
    table = run_table([one, {**other, "title": "other"}])
    for head, wanted in columns.items():
        assert (cells(table, head) if head in table.heads else None) == wanted


BASE, BETTER = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]


def of_six(title: str, values: Sequence[float] = BASE, **fields: Any) -> dict[str, Any]:
    """A run of six questions with these accuracies."""
    mean = {"mean": sum(values) / len(values), "low": 0.1, "high": 0.9, "n": 6}
    usage = {"tokens_per_question": 10.0, "context_tokens_per_question": 1834.4}
    own = {"n": 6, "selected": 6, "answered": 6, "usage": usage, "key": title, "values": values,
           "metrics": {"evidence_recall@5": mean, "accuracy": mean}, "cost": cost()}  # fmt: skip
    return run(title, **(own | fields))


def compared(runs: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    scored = [
        ScoredRun(one, {f"q{n}": {"accuracy": v, "f1": v} for n, v in enumerate(one["values"])})
        for one in runs
    ]
    return comparisons(scored, "vanilla")


def table(*runs: Mapping[str, Any], **settings: Any) -> Table:
    return headline_table(runs, compared(runs), **settings)


def test_the_headline_table_has_metric_difference_p_context_and_cost() -> None:
    oracle = of_six("Oracle", [1.0] * 6, role="ceiling")
    result = table(oracle, of_six("Vanilla"), of_six("Better", BETTER), of_six("Same"))
    assert result.heads == (
        "method", "n", "accuracy [95 %]", "minus Vanilla", "p (Holm, 2 tests)", "context tokens",
        "cost, tokens",
    )  # fmt: skip
    assert result.rows[0] == ("Vanilla", "6", "0.333", MISSING, MISSING, "1,834", "2,460")
    assert cells(result, "minus Vanilla") == [MISSING, "+0.333", "+0.000", MISSING]
    dear = table(of_six("Vanilla"), of_six("Dear", cost=cost(0.25)))
    assert cells(dear, "cost, USD") == ["0.0000", "0.5000"]


def test_the_main_metric_is_that_of_most_questions() -> None:
    cuts = {f"evidence_recall@{k}": MEAN for k in (2, 10, 3)}
    found = [main_metric([of_six("A", metrics=of)]) for of in ({"accuracy": MEAN}, cuts, {})]
    assert found == ["accuracy", "evidence_recall@10", "accuracy"]
    assert main_metric([of_six("A")], "f1") == "f1"
    few = {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 4}
    recall = {"mean": 0.939, "low": 0.9, "high": 0.97, "n": 60}
    sizes = {"n": 70, "selected": 70, "answered": 5}
    part = of_six("Part", metrics={"accuracy": few, "evidence_recall@5": recall}, **sizes)
    assert cells(table(part), "evidence_recall@5 [95 %]") == ["0.939 [0.90, 0.97] (60 of 70)"]
    whole = of_six("Whole", metrics={"accuracy": {**few, "n": 70}}, **sizes)
    assert main_metric([part, whole]) == "accuracy"
    shown = cells(table(part, whole, metric="accuracy"), "accuracy [95 %]")
    assert shown == ["0.000 (4 of 70)", "0.000 [0.00, 0.00]"]


def test_failed_questions_have_a_column_a_mark_and_a_warning() -> None:
    result = table(of_six("Vanilla"), of_six("Failing", failed=2, errors=["2 x a.0: no"]))
    assert cells(result, "failed") == ["0", "2"]
    assert cells(result, "accuracy [95 %]")[1] == "0.333!"
    assert "2 failed" in result.notes[1] and "2 x a.0: no" in result.notes[1]


def test_all_columns_gives_every_table() -> None:
    runs = [of_six("Vanilla"), of_six("Better", [1.0] * 6)]
    main, differences, costs = select_tables(runs, compared(runs), columns="all")
    assert "evidence@5 [95 %]" in main.heads and len(differences.rows) == 2
    assert costs.rows[0][:2] == ("Vanilla", "generate.0 x")
    assert "1,200 + 30" in costs.rows[0]
    assert len(select_tables(runs, compared(runs))) == 1
    with pytest.raises(UserError, match="'all'"):
        checked_columns("al")


METRIC = "evidence_recall@5"
ON_DEV = {"metric": METRIC, "split": "dev", "dev_share": 0.5, "limit": None, "n_configurations": 50}
MARK = "(selected on this split, 50 configurations)"


def scored(mean: float, **fields: Any) -> dict[str, Any]:
    """The fields of `metrics.json` that a selection reads."""
    stored = {"role": "", "failed": 0, "split": "dev", "dev_share": 0.5, "limit": None}
    return {**stored, "metrics": {METRIC: {"mean": mean}}, **fields}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([scored(0.4), scored(0.6), scored(0.6), scored(0.5)], (1, 1, 4)),
        ([scored(0.1), scored(1.0, role="ceiling"), scored(0.2)], (2, 0, 2)),
        ([scored(0.9, failed=1), scored(0.2)], (1, 0, 2)),
    ],
)
def test_the_best_run_is_the_first_with_the_highest_mean(
    runs: list[dict[str, Any]], expected: tuple[int, int, int]
) -> None:
    best, selection = best_run(runs, METRIC)
    assert (best, selection["n_equal"], selection["n_configurations"]) == expected
    for left, metric in (([scored(0.9, failed=1)], METRIC), (runs, "evidence_recal@5")):
        with pytest.raises(UserError, match=METRIC):
            best_run(left, metric)


@pytest.mark.parametrize(  # parts of different divisions share questions
    ("split", "dev_share", "marked"),
    [("dev", 0.5, True), ("test", 0.5, False), ("all", 0.5, True), ("test", 0.3, True)],
)
def test_a_run_scored_on_its_selection_split_is_marked(
    split: str, dev_share: float, marked: bool
) -> None:
    stored = scored(0.5, split=split, dev_share=dev_share, selections=[ON_DEV])
    assert selection_mark(stored) == (MARK if marked else "")
    assert selection_mark({**stored, "selections": [{**ON_DEV, "n_configurations": 1}]}) == ""
