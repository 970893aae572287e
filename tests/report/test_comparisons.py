"""Differences from a baseline: the selected run, the compared metrics, and the cells."""

from dataclasses import replace

import pytest

from graphrag_bench.evaluation.statistics import holm, paired_difference
from graphrag_bench.report import comparisons
from graphrag_bench.report.rendering import MISSING


def run(method, values, metric="accuracy", **fields):
    """A run with these values of one metric for questions q0, q1, ..."""
    stored = {
        "title": method, "method": method, "role": "", "dataset": "toy", "settings": {},
        "key": method, **fields,
    }  # fmt: skip
    scores = {f"q{row}": {metric: value} for row, value in enumerate(values)}
    return comparisons.ScoredRun(stored, scores)


def table(*runs, baseline="vanilla", metrics=()):
    result = comparisons.comparison_table(comparisons.comparisons(runs, baseline, metrics))
    assert result is not None
    return result


BASE = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
BETTER = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]


def test_a_row_has_difference_p_and_wins():
    """3 wins, 1 loss: of 16 sign flips 2 are more and 8 as extreme, 2 / 16 + 8 / 32."""
    result = table(run("vanilla", BASE), run("hipporag", BETTER))
    (row,) = result.rows
    assert row[:5] == ("hipporag", "vanilla", "accuracy", "6", "+0.333")
    assert (result.heads[5], *row[5:7]) == ("p", "0.3750", "3/2/1")
    assert float(row[7]) > 0.5
    (row,) = table(run("vanilla", [0.0] * 10), run("a", [0.5, *[1.0] * 9])).rows
    assert "[" in row[4]  # from ten questions on


def test_p_is_corrected_over_all_rows_and_over_scopes():
    values = {"a": BETTER, "b": [0.0] * 6, "c": BASE}
    result = table(run("vanilla", BASE), *(run(name, of) for name, of in values.items()))
    plain = [paired_difference(BASE, of).p for of in values.values()]
    assert [float(row[5]) for row in result.rows] == pytest.approx(holm(plain), abs=1e-4)
    assert (result.heads[5], result.rows[2][7]) == ("p (Holm, 3 tests)", MISSING)
    scopes = {f"q{row}": "abc"[row // 2] for row in range(6)}
    runs = [run("vanilla", [0.0] * 6), run("hipporag", [1.0] * 6)]
    result = table(*(replace(one, scopes=scopes) for one in runs))
    assert result.rows[0][5] == "0.1250"


def test_a_difference_over_fewer_questions_shows_both_numbers():
    for first, second in ((BASE[:4], BETTER), (BASE, BETTER[:4])):
        assert table(run("vanilla", first), run("a", second)).rows[0][3] == "4 of 6"


def test_the_baseline_run_has_most_fields_equal():
    small, large = run("vanilla", BASE, llm="small"), run("vanilla", BETTER, llm="large")
    rows = table(small, large, run("hipporag", BETTER, llm="large")).rows
    against = {row[0]: (row[1], row[6]) for row in rows}
    assert against["hipporag"] == ("vanilla llm=large", "0/6/0")
    result = table(*(run("vanilla", BASE, settings={"method.top_k": k}) for k in (4, 8)))
    assert result.rows[0][:2] == ("vanilla top_k=8", "vanilla top_k=4")


def test_reference_rows_other_sets_and_other_rules_are_not_compared():
    roles = [run("zeroshot", BASE, role="floor"), run("oracle", BETTER, role="ceiling")]
    ruled = run("raptor", BASE, evaluation={"containment": "words"})
    runs = [run("vanilla", BASE), *roles, run("hipporag", BETTER, dataset="sample"), ruled]
    assert comparisons.comparison_table(comparisons.comparisons(runs, "vanilla")) is None
    first, second = ({**one.metrics, "llm": "", "corpus": ""} for one in (runs[0], ruled))
    (row,) = comparisons.settings_that_differ(first, second)
    assert row[0] == "evaluation.containment" and row[2] == "words"


def test_named_metrics_replace_the_default_ones():
    scores = {f"evidence_recall@{k}": 0.5 for k in (2, 5, 10)} | {"exact_match": 1.0}
    runs = [replace(run(name, ()), scores={"q": scores}) for name in ("vanilla", "a")]
    for metrics, compared in (([], "evidence_recall@5"), (["exact_match"], "exact_match")):
        assert [row[2] for row in table(*runs, metrics=metrics).rows] == [compared]
