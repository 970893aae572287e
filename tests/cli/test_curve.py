"""Accuracy and evidence against tokens of context, from stored runs alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, asked, command, ran, refused

from graphrag_bench.evaluation.statistics import Mean
from graphrag_bench.report.curves import Point, curve_table

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off", "answer=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def cells(out: str) -> list[list[str]]:
    """The cells of the table's rows."""
    rows = [line for line in out.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]


def test_a_curve_has_a_row_for_each_budget_by_method_and_tokens() -> None:
    ran("-m", *QUIET, "method=vanilla,bm25", "budget_context=90,40,200")
    ran(*QUIET, "method=vanilla", "budget_context=native")
    asked.clear()
    shown = command("curve", "--dataset", "toy")
    assert shown.code == 0, shown.err
    assert asked == []
    rows = cells(shown.out)
    assert [row[0] for row in rows] == ["toy: BM25"] * 3 + ["toy: VanillaRAG"] * 3
    assert [row[1] for row in rows] == ["40", "90", "200"] * 2
    tokens = [int(row[3]) for row in rows[3:]]
    assert tokens == sorted(tokens)
    assert all(used <= budget for used, budget in zip(tokens, (40, 90, 200), strict=True))
    evidence = [float(row[4].split(" ")[0]) for row in rows[3:]]
    assert evidence == sorted(evidence)
    assert evidence[0] < evidence[-1]


def test_a_curve_is_drawn_along_any_setting_that_is_a_number() -> None:
    ran("-m", *QUIET, "method=hipporag", "method.damping=0.5,0.1,0.3", "method.top_k=2,5")
    ran(*QUIET, "method=bm25")
    for name in ("method.damping", "damping"):
        shown = command("curve", f"x={name}")
        assert shown.code == 0, shown.err
        rows = cells(shown.out)
        assert [row[0] for row in rows] == (
            ["toy: HippoRAG top_k=2"] * 3 + ["toy: HippoRAG top_k=5"] * 3
        )
        assert [row[1] for row in rows] == ["0.1", "0.3", "0.5"] * 2
        assert "evidence_recall@5 [95 %]" in shown.out
    assert (
        "one value of seed only, which is not a curve: toy: BM25" in command("curve", "x=seed").out
    )
    assert "method.damping" in refused("x=method.dampin", name="curve").partition("Did you mean")[2]


def test_mistakes_are_answered_with_what_there_is() -> None:
    said = refused(name="curve")
    assert "budget_context=500,1000,2000" in said
    ran(*QUIET, "method=vanilla", "budget_context=60")
    assert "There are some on toy" in refused("--dataset", "sample", name="curve")
    said = refused("--metrics", "evidence_recal@5", name="curve")
    assert "evidence_recall@5" in said.partition("Did you mean")[2]
    assert "See graphrag-bench curve --help" in refused("--colour", name="curve")
    assert "usage: graphrag-bench curve" in command("curve", "--help").out


def point(method: str, tokens: float, accuracy: float) -> Point:
    held: dict[str, Any] = {
        "title": method, "dataset": "toy", "llm": "model", "n": 4, "budget_context": int(tokens),
        "settings": {},
        "metrics": {"accuracy": {"mean": accuracy, "low": 0.1, "high": 0.9, "n": 4}},
        "usage": {"context_tokens_per_question": tokens},
    }  # fmt: skip
    return Point(held, Mean(0.5, 0.25, 0.75, 4))


def test_a_bar_sign_is_a_tenth_of_the_last_mean() -> None:
    table = curve_table([point("b", 2000.0, 0.75), point("a", 500.0, 0.25), point("b", 900.0, 0.5)])
    assert [(row[0], row[1]) for row in table.rows] == [
        ("toy: a", "500"), ("toy: b", "900"), ("toy: b", "2,000"),
    ]  # fmt: skip
    assert [len(row[-1]) for row in table.rows] == [2, 5, 8]
    assert table.rows[0][4:6] == ("0.500 [0.25, 0.75]", "0.250 [0.10, 0.90]")
