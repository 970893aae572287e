"""The best of several configurations is marked where it is scored on what it was chosen on."""

from typing import Any

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.report.rows import best_of, mark

METRIC = "evidence_recall@5"
ON_DEV = {"metric": METRIC, "split": "dev", "dev_share": 0.5, "limit": None, "n_configurations": 50}
MARK = "(selected on this split, 50 configurations)"


def run(mean: float, **fields: Any) -> dict[str, Any]:
    """What the choice reads of `metrics.json`."""
    stored = {"role": "", "failed": 0, "split": "dev", "dev_share": 0.5, "limit": None}
    return {**stored, "metrics": {METRIC: {"mean": mean}}, **fields}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([run(0.4), run(0.6), run(0.6), run(0.5)], (1, 1, 4)),
        ([run(0.1), run(1.0, role="ceiling"), run(0.2)], (2, 0, 2)),
        ([run(0.9, failed=1), run(0.2)], (1, 0, 2)),
    ],
)
def test_the_first_highest_mean_wins_without_reference_rows_and_failed_runs_are_counted(
    runs: list[dict[str, Any]], expected: tuple[int, int, int]
) -> None:
    best, selection = best_of(runs, METRIC)
    assert (best, selection["n_equal"], selection["n_configurations"]) == expected
    for left, metric in (([run(0.9, failed=1)], METRIC), (runs, "evidence_recal@5")):
        with pytest.raises(UserError, match=METRIC):
            best_of(left, metric)


@pytest.mark.parametrize(  # parts of another division have questions in common
    ("split", "dev_share", "marked"),
    [("dev", 0.5, True), ("test", 0.5, False), ("all", 0.5, True), ("test", 0.3, True)],
)
def test_a_run_is_marked_unless_it_is_scored_on_other_questions(
    split: str, dev_share: float, marked: bool
) -> None:
    stored = run(0.5, split=split, dev_share=dev_share, selections=[ON_DEV])
    assert mark(stored) == (MARK if marked else "")
    assert mark({**stored, "selections": [{**ON_DEV, "n_configurations": 1}]}) == ""
