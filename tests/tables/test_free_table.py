"""A free table has means, intervals and n where they belong, and names what it averages over."""

from dataclasses import replace

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.tables.free_tables import Layout, PivotRun, pivot_table

ATTRIBUTES = {"q1": {"hops": "1"}, "q2": {"hops": "2"}, "q3": {"hops": "10"}, "q4": {}}


def run(scores: dict[str, float], **fields: str) -> PivotRun:
    held = {name: {"accuracy": value} for name, value in scores.items()}
    return PivotRun({"method": "bm25", "dataset": "toy", **fields}, held, ATTRIBUTES)


BM25 = run({"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 1.0})
VANILLA = run({"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 1.0}, method="vanilla")
OTHER = run({"q1": 0.0}, dataset="sample")
LAYOUT = Layout("method", "dataset", "accuracy")


def test_a_cell_is_the_mean_of_its_questions_with_interval_and_n() -> None:
    table = pivot_table([BM25, VANILLA, OTHER], LAYOUT)
    assert table.heads == ("method", "toy", "sample")
    assert table.rows == (
        ("bm25", "0.500 [0.00, 1.00] n=4", "0.000 n=1"),
        ("vanilla", "1.000 [1.00, 1.00] n=4", "–"),
    )


def test_a_split_has_a_row_for_each_part_numbers_by_size_and_unsaid_last() -> None:
    table = pivot_table([BM25, VANILLA], Layout("method", "dataset", "accuracy", "hops"))
    assert table.heads == ("method", "hops", "toy")
    assert [row[:2] for row in table.rows[:4]] == [("bm25", hops) for hops in ("1", "2", "10", "–")]
    assert table.rows[0][2] == "1.000 n=1"


def test_questions_of_one_scope_are_drawn_together() -> None:
    """Of two scopes, one all right and one all wrong, a quarter of the draws is all right."""
    scores = {f"{scope}{n}": float(scope == "a") for scope in "ab" for n in range(12)}
    scopes = {question: {"scope": question[0]} for question in scores}
    scoped = replace(run(scores), attributes=scopes)
    table = pivot_table([scoped], LAYOUT)
    assert table.rows == (("bm25", "0.500 [0.00, 1.00] n=24"),)
    apart = pivot_table([replace(scoped, attributes={})], LAYOUT)
    assert "[0.00, 1.00]" not in apart.rows[0][1]


def test_a_run_that_was_chosen_on_these_questions_is_marked() -> None:
    best = replace(BM25, fields={**BM25.fields, "title": "BM25"}, mark="(selected on this split)")
    (chosen, free) = pivot_table([best, VANILLA], LAYOUT).rows
    assert (chosen[1], free[1]) == ("0.500* [0.00, 1.00] n=4", "1.000 [1.00, 1.00] n=4")
    notes = pivot_table([best, VANILLA], LAYOUT).notes
    assert any(note.startswith("* BM25 (selected on this split); ") for note in notes)
    assert not any("selected" in note for note in pivot_table([VANILLA], LAYOUT).notes)


def test_runs_that_share_a_cell_are_averaged_by_question_and_what_differs_is_named() -> None:
    one = run({"q1": 1.0, "q2": 0.0}, **{"method.damping": "0.1"})
    two = run({"q1": 1.0, "q2": 1.0}, **{"method.damping": "0.5"})
    table = pivot_table([one, two], LAYOUT)
    assert table.rows == (("bm25", "0.750 [0.50, 1.00] n=2, 2 runs"),)
    assert any("method.damping" in note for note in table.notes)
    apart = pivot_table([one, two], Layout("damping", "method", "accuracy"))
    assert [row[0] for row in apart.rows] == ["0.1", "0.5"]
    assert not any("damping" in note for note in apart.notes)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout("metod", "dataset", "accuracy"), "metod.*'method'"),
        (Layout("method", "dataset", "acuracy"), "acuracy.*'accuracy'"),
        (Layout("method", "dataset", "accuracy", "hop"), "'hop'.*hops"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(layout: Layout, message: str) -> None:
    with pytest.raises(UserError, match=message):
        pivot_table([BM25], layout)
    with pytest.raises(UserError, match="no run"):
        pivot_table([], layout)
