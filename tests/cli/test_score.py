"""`graphrag-bench runs score`: stored runs of the toy set re-scored."""

import json
from pathlib import Path
from typing import Any

import pytest
import toy_runs
from toy_runs import TOY, command, metrics, refused, run_folder

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
    files = [run / name for name in ("metrics.json", "records.jsonl")]
    before = [file.read_bytes() for file in files]
    toy_runs.asked.clear()
    shown = scored(run)
    assert [file.read_bytes() for file in files] == before
    assert not toy_runs.asked
    assert "answer_in_context" in shown and f"scored: {run}" in shown


def test_more_metrics_are_added_and_the_cost_is_kept(run: Path) -> None:
    before = metrics(run)
    after = again(run, metrics=["rouge_l", "recall_concat"])
    assert metrics(run) == after
    assert set(after["metrics"]) - set(before["metrics"]) == {"rouge_l", "recall_concat"}
    assert "rouge-score" in after["computed_by"][0]
    for name in ("cost", "estimate", "settings", "key", "usage"):
        assert after[name] == before[name]
    assert set(find_run(str(run), ".").scores["q1"]) >= {"rouge_l", "accuracy"}


def test_settings_of_scoring_stay_until_others_are_given(run: Path) -> None:
    names = again(run, cuts=[1, 3], normaliser="squad")["metrics"]
    assert "evidence_recall@3" in names and "evidence_recall@5" not in names
    after = again(run, evidence_tokens=[40])
    assert after["evaluation"]["cuts"] == [1, 3]
    assert after["evaluation"]["normaliser"] == "squad"
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


def test_the_texts_of_a_context_are_kept_where_a_document_does_not_have_them(run: Path) -> None:
    whole = json.loads((run / "contexts.jsonl").read_text().splitlines()[0])
    assert set(whole["texts"]) == {None}
    token = ["chunking=token", "chunking.size=8", "chunking.overlap=0"]
    cut = run_folder(*QUIET, "method=bm25", *token)
    lines = [json.loads(line) for line in (cut / "contexts.jsonl").read_text().splitlines()]
    assert all(isinstance(text, str) for line in lines for text in line["texts"])
    off = run_folder(*QUIET, "method=zeroshot", "trace=off")
    assert not (off / "contexts.jsonl").exists()
    assert "answer_in_context" not in metrics(off)["metrics"]
    assert "answer_in_context" in metrics(cut)["metrics"]


def test_the_run_of_a_baseline_is_compared_with(run: Path) -> None:
    runs = (run, next(run.parents[1].glob("vanilla/*")))
    every = ("evaluation.baseline=vanilla", "columns=all")
    shown = scored(*runs, *every)
    assert "evidence_recall@5" in shown[shown.index("differences from VanillaRAG") :]
    wrong = ("score", str(run), "evaluation.baseline=vanila")
    assert "'vanila'" in refused(*wrong, name="runs")
    chosen = scored(*runs, *every, "evaluation.compared=[mrr]")
    rows = chosen[chosen.index("differences from VanillaRAG") :]
    assert "mrr" in rows and "evidence_recall@5" not in rows
