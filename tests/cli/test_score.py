"""`graphrag-bench runs score`: stored runs of the toy set re-scored."""

from pathlib import Path
from typing import Any

import pytest
import toy_runs
from toy_runs import TOY, command, metrics, refused

from graphrag_bench.errors import UserError
from graphrag_bench.run.stored import find_run, rescored

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off"]


BUILT = [[*QUIET, f"method={name}"] for name in ("bm25", "vanilla")]


@pytest.fixture
def run(copied: None, home: Path) -> Path:
    """The folder of BM25 on the toy set, beside VanillaRAG."""
    return next((home / "runs" / "toy" / "bm25").iterdir())


def again(run: Path, **changes: Any) -> dict[str, Any]:
    return rescored(find_run(str(run), "."), changes)


def scored(*arguments: object) -> str:
    ended = command("runs", "score", *map(str, arguments))
    assert ended.code == 0, ended.err
    return ended.out


def test_a_run_scored_anew_as_it_was_has_the_same_metrics_and_costs_nothing(run: Path) -> None:
    before = (run / "metrics.json").read_bytes()
    toy_runs.asked.clear()
    assert f"scored: {run}" in scored(run)
    assert (run / "metrics.json").read_bytes() == before and not toy_runs.asked


def test_more_metrics_are_added_and_the_cost_is_kept(run: Path) -> None:
    before = metrics(run)
    after = again(run, metrics=["recall_concat"])
    assert metrics(run) == after
    assert set(after["metrics"]) - set(before["metrics"]) == {"recall_concat"}
    for name in ("cost", "estimate", "settings", "key", "usage"):
        assert after[name] == before[name]


def test_settings_of_scoring_stay_until_others_are_given(run: Path) -> None:
    names = again(run, cuts=[1, 3], normaliser="squad")["metrics"]
    assert "evidence_recall@3" in names and "evidence_recall@5" not in names
    after = again(run, evidence_tokens=[40])
    assert (after["evaluation"]["cuts"], after["evaluation"]["normaliser"]) == ([1, 3], "squad")
    assert "evidence_at_tokens@40" in after["metrics"]
    before = metrics(run)
    for changes, name in (
        ({"metrics": ["metor"]}, "meteor"),
        ({"contain": "substring"}, "containment"),
        ({"cuts": [0]}, "evaluation.cuts"),
    ):
        with pytest.raises(UserError, match=name):
            again(run, **changes)
    assert metrics(run) == before


def test_the_run_of_a_baseline_is_compared_with(run: Path) -> None:
    words = ("evaluation.baseline=vanilla", "columns=all", "evaluation.compared=[mrr]")
    shown = scored(run, next(run.parents[1].glob("vanilla/*")), *words)
    rows = shown[shown.index("differences from VanillaRAG") :]
    assert "mrr" in rows and "evidence_recall@5" not in rows
    wrong = ("score", str(run), "evaluation.baseline=vanila")
    assert "'vanila'" in refused(*wrong, name="runs")
