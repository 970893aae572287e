"""The best of several configurations is marked where it is scored on what it was chosen on."""

from typing import Any

import numpy as np
import pytest

from graphrag_bench.data.dataset import is_dev
from graphrag_bench.errors import UserError
from graphrag_bench.report.rows import best_of, mark

METRIC = "evidence_recall@5"
ON_DEV = {"metric": METRIC, "split": "dev", "dev_share": 0.5, "limit": None, "n_configurations": 50}
MARK = "(selected on this split, 50 configurations)"


def run(mean: float, **fields: Any) -> dict[str, Any]:
    """What the choice reads of `metrics.json`."""
    held = {"role": "", "failed": 0, "split": "dev", "dev_share": 0.5, "limit": None}
    return {**held, "metrics": {METRIC: {"mean": mean}}, **fields}


@pytest.mark.parametrize(
    ("runs", "row", "n_equal", "n_configurations"),
    [
        ([run(0.4), run(0.6), run(0.6), run(0.5)], 1, 1, 4),
        ([run(0.1), run(1.0, role="ceiling"), run(0.2)], 2, 0, 2),
        ([run(0.9, failed=1), run(0.2)], 1, 0, 2),
    ],
)
def test_the_first_highest_mean_wins_without_reference_rows_and_failed_runs_are_counted(
    runs: list[dict[str, Any]], row: int, n_equal: int, n_configurations: int
) -> None:
    best, selection = best_of(runs, METRIC)
    assert (best, selection["n_equal"]) == (row, n_equal)
    assert selection["n_configurations"] == n_configurations


def test_failed_runs_alone_are_no_choice() -> None:
    with pytest.raises(UserError, match="retry those that failed"):
        best_of([run(0.9, failed=1)], METRIC)


def test_a_metric_that_no_run_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match="evidence_recall@5"):
        best_of([run(0.9)], "evidence_recal@5")


@pytest.mark.parametrize(
    ("split", "dev_share", "marked"),
    [
        ("dev", 0.5, True),
        ("test", 0.5, False),
        ("all", 0.5, True),
        ("test", 0.3, True),  # parts of another division: some questions are in both
    ],
)
def test_a_run_is_marked_unless_it_is_scored_on_other_questions(
    split: str, dev_share: float, marked: bool
) -> None:
    held = run(0.5, split=split, dev_share=dev_share, selections=[ON_DEV])
    assert mark(held) == (MARK if marked else "")
    assert mark({**held, "selections": [{**ON_DEV, "n_configurations": 1}]}) == ""


def test_of_fifty_equal_configurations_the_winner_is_too_high_on_dev_and_not_on_test() -> None:
    chance = np.random.default_rng(0)
    names = [f"question {number}" for number in range(200)]
    dev = np.array([is_dev(name) for name in names])
    on_dev, on_test = [], []
    for _ in range(200):
        found = chance.random((50, 200)) < 0.5  # 50 configurations, every one right half the time
        runs = [run(float(mean)) for mean in found[:, dev].mean(axis=1)]
        row, selection = best_of(runs, METRIC)
        on_dev.append(runs[row]["metrics"][METRIC]["mean"])
        on_test.append(found[row, ~dev].mean())
        assert mark({**runs[row], "selections": [selection]}) == MARK
        assert mark({**runs[row], "split": "test", "selections": [selection]}) == ""
    # the highest of 50 means lies 2.25 standard errors above: 2.25 * 0.5 / sqrt(n of dev)
    expected = 0.5 + 2.25 * 0.5 / np.sqrt(dev.sum())
    assert np.mean(on_dev) == pytest.approx(expected, abs=0.01)
    assert np.mean(on_test) == pytest.approx(0.5, abs=0.01)
