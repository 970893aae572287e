"""Accuracy and evidence against tokens of context, from stored runs alone."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, asked, command, run_folder

from graphrag_bench.cli.curve import points_along
from graphrag_bench.errors import UserError
from graphrag_bench.report.curves import BUDGET, Point, check_metric, curve_table

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off", "answer=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_curve_reads_stored_runs_and_asks_no_model() -> None:
    for budget in (90, 40, 200, "native"):
        run_folder(*QUIET, "method=vanilla", f"budget_context={budget}")
    asked.clear()
    shown = command("curve", "--dataset", "toy")
    assert shown.code == 0 and "toy: VanillaRAG" in shown.out
    assert asked == []
    rows = curve_table(points_along(BUDGET, dataset="toy")[1]).rows
    assert [row[:2] for row in rows] == [
        ("toy: VanillaRAG", budget) for budget in ("40", "90", "200")
    ]  # fmt: skip
    tokens = [int(row[3]) for row in rows]
    assert tokens == sorted(tokens)
    assert all(used <= budget for used, budget in zip(tokens, (40, 90, 200), strict=True))
    evidence = [float(row[4].split(" ")[0]) for row in rows]
    assert evidence == sorted(evidence)
    assert evidence[0] < evidence[-1]
    with pytest.raises(UserError, match="on sample"):
        points_along(BUDGET, dataset="sample")
    with pytest.raises(UserError, match="evidence_recall@5"):
        check_metric([point.metrics for point in points_along(BUDGET)[1]], "evidence_recal@5")


def test_a_curve_is_along_any_setting_that_is_a_number() -> None:
    with pytest.raises(UserError, match="budget_context"):
        points_along(BUDGET)
    for damping, top_k in product((0.3, 0.1), (2, 5)):
        run_folder(*QUIET, "method=hipporag", f"method.damping={damping}", f"method.top_k={top_k}")
    for name in ("method.damping", "damping"):
        path, points = points_along(name)
        assert path == "method.damping"
        assert [row[:2] for row in curve_table(points, along=path).rows] == [
            (f"toy: HippoRAG top_k={top_k}", value) for top_k in (2, 5) for value in ("0.1", "0.3")
        ]
    with pytest.raises(UserError, match="method.damping"):
        points_along("method.dampin")


def point(method: str, tokens: float, accuracy: float) -> Point:
    held: dict[str, Any] = {
        "title": method, "dataset": "toy", "llm": "model", "n": 4, "budget_context": int(tokens),
        "settings": {},
        "metrics": {
            "accuracy": {"mean": accuracy, "low": 0.1, "high": 0.9, "n": 4},
            "evidence_in_context": {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 4},
        },
        "usage": {"context_tokens_per_question": tokens},
    }  # fmt: skip
    return Point(held)


def test_a_bar_sign_is_a_tenth_of_the_last_mean() -> None:
    table = curve_table([point("b", 2000.0, 0.75), point("a", 500.0, 0.25), point("b", 900.0, 0.5)])
    assert [(row[0], row[1]) for row in table.rows] == [
        ("toy: a", "500"), ("toy: b", "900"), ("toy: b", "2,000"),
    ]  # fmt: skip
    assert [len(row[-1]) for row in table.rows] == [2, 5, 8]
    assert table.rows[0][4:6] == ("0.500 [0.25, 0.75]", "0.250 [0.10, 0.90]")
