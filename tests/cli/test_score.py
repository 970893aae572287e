"""`graphrag-bench score`: stored runs of the toy set re-scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import toy_runs
from toy_runs import TOY, command, metrics, ran, refused, write_set

from graphrag_bench.runs.stored import find_run

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of BM25 on the toy set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return ran(*QUIET, "method=bm25").folder


def scored(*arguments: object) -> str:
    ended = command("score", *map(str, arguments))
    assert ended.code == 0, ended.err
    return ended.out


def judge(run: Path, rows: Sequence[tuple[str, float | None]]) -> None:
    lines = [{"question": q, "metric": "judged_correct", "value": value} for q, value in rows]
    (run / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_run_scored_anew_as_it_was_has_the_same_metrics_and_costs_nothing(run: Path) -> None:
    before, held = metrics(run), (run / "records.jsonl").read_bytes()
    toy_runs.asked.clear()
    shown = scored(run)
    assert metrics(run) == before
    assert (run / "records.jsonl").read_bytes() == held
    assert not toy_runs.asked
    assert "BM25" in shown and "answer_in_context" in shown and f"scored: {run}" in shown


def test_more_metrics_are_added_and_the_cost_is_kept(run: Path) -> None:
    before = metrics(run)
    shown = scored(run.name[:6], "--metrics", "rouge_l,recall_concat", "--home", Path.cwd())
    after = metrics(run)
    assert set(after["metrics"]) - set(before["metrics"]) == {"rouge_l", "recall_concat"}
    assert "rouge-score" in after["computed_by"][0] and "computed by rouge-score" in shown
    for kept in ("cost", "estimate", "settings", "key", "usage"):
        assert after[kept] == before[kept]
    assert set(find_run(str(run), ".").scores["q1"]) >= {"rouge_l", "accuracy"}


def test_settings_of_scoring_stay_until_others_are_given(run: Path) -> None:
    scored(run, "evaluation.cuts=[1,3]", "evaluation.normaliser=squad")
    assert "evidence_recall@3" in metrics(run)["metrics"]
    assert "evidence_recall@5" not in metrics(run)["metrics"]
    scored(run, "evaluation.evidence_tokens=[40]")
    held = metrics(run)
    assert held["evaluation"]["cuts"] == [1, 3] and held["evaluation"]["normaliser"] == "squad"
    assert {name for name in held["metrics"] if "@" in name and "tokens" in name} == {
        "evidence_at_tokens@40"
    }
    assert set(find_run(str(run), ".").scores["q1"]) <= set(held["metrics"])


def test_what_a_judge_has_said_is_taken_in_and_what_could_not_be_read_is_counted(
    run: Path,
) -> None:
    judge(run, [("q1", 1.0), ("q2", 0.0), ("q3", None)])
    shown = scored(run)
    held = metrics(run)
    assert held["metrics"]["judged_correct"]["mean"] == 0.5
    assert held["metrics"]["judged_correct"]["n"] == 2
    assert held["missing"] == {"judged_correct": 1}
    assert "judgements not read: judged_correct 1" in shown
    scores = find_run(str(run), ".").scores
    assert scores["q1"]["judged_correct"] == 1.0 and "judged_correct" not in scores["q3"]


def test_the_texts_of_a_context_are_kept_where_a_document_does_not_have_them(run: Path) -> None:
    whole = json.loads((run / "contexts.jsonl").read_text().splitlines()[0])
    assert set(whole["texts"]) == {None}
    cut = ran(*QUIET, "method=bm25", "chunking=token", "chunking.size=8", "chunking.overlap=0")
    lines = [json.loads(line) for line in (cut.folder / "contexts.jsonl").read_text().splitlines()]
    assert all(isinstance(text, str) for line in lines for text in line["texts"])
    off = ran(*QUIET, "method=vanilla", "trace=off").folder
    assert not (off / "contexts.jsonl").exists()
    assert "answer_in_context" not in metrics(off)["metrics"]
    assert "answer_in_context" in metrics(cut.folder)["metrics"]


# ---- mistakes


def test_mistakes_are_answered_with_what_would_be_right(run: Path) -> None:
    def said(*arguments: object) -> str:
        return refused(*map(str, arguments), name="score")

    assert "Did you mean 'meteor'" in said(run, "--metrics", "metor")
    assert "Did you mean 'containment'" in said(run, "evaluation.contain=substring")
    assert "evaluation.cuts" in said(run, "evaluation.cuts=[0]")
    assert "No run '" in said("zzzz")
    assert "RUN is missing" in said("evaluation.cuts=[1]")
    assert "--metrcs" in said(run, "--metrcs", "f1")
    assert metrics(run)["evaluation"]["cuts"] == [2, 5, 10]


def test_a_run_whose_data_set_is_gone_is_not_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_set(
        tmp_path / "mine",
        [{"id": "a", "title": "Ada Marsh", "text": "Ada Marsh was born in Lund."}],
        [{"id": "q1", "text": "Where was Ada Marsh born?", "answers": ["Lund"]}],
    )
    settings = ["dataset=jsonl", f"dataset.root={folder}", *QUIET[1:], "method=bm25"]
    run = ran(*settings).folder
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert "is not at hand; its gold is needed" in refused(str(run), name="score")


def test_a_baseline_that_is_given_is_compared_with_whether_it_is_named_or_stored(run: Path) -> None:
    other = ran(*QUIET, "method=vanilla").folder
    every = ("evaluation.baseline=vanilla", "columns=all")
    alone = scored(run, *every)
    for shown in (alone, scored(run, other, *every)):
        assert "differences from VanillaRAG" in shown
        assert "evidence_recall@5" in shown[shown.index("differences from VanillaRAG") :]
    chosen = scored(run, *every, "evaluation.compared=[mrr]")
    rows = chosen[chosen.index("differences from VanillaRAG") :]
    assert "mrr" in rows and "evidence_recall@5" not in rows


def test_no_difference_without_a_baseline_and_an_unknown_one_is_refused(run: Path) -> None:
    every = ("columns=all",)
    assert "differences from" not in scored(run, "evaluation.baseline=none", *every)
    before = metrics(run)
    said = refused(str(run), "evaluation.baseline=vanila", name="score")
    assert "no run of it on toy is stored" in said and "bm25" in said
    assert metrics(run) == before
