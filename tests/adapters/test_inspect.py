"""Runs as logs of inspect_ai, read back with its library."""

import sys
import zipfile

import pytest
import toy_runs
from inspect_ai.log import read_eval_log
from toy_runs import TOY, command, command_error, run_folder

from graphrag_bench import api

RUN = [*TOY, "method=bm25", "answer=3", "limit=4", "reference_rows=off"]
ADDRESS = "http://10.0.0.1:8000/v1"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of four questions: one fails, two are answered, one is only retrieved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toy_runs, "fails_on", {"Who founded"})
    folder = run_folder(*RUN)
    rows = (folder / "records.jsonl").read_text()
    message = f"no reply of {ADDRESS} to {tmp_path}"
    (folder / "records.jsonl").write_text(rows.replace("the reader was told to fail", message))
    return folder


def test_a_log_has_the_questions_with_scores_contexts_and_errors(run, tmp_path, monkeypatch):
    assert command("runs", "export", "bm25", "--inspect", "run.eval").code == 0
    log = read_eval_log("run.eval")
    rows = {row["question"]: row for row in toy_runs.records(run)}
    stored = toy_runs.metrics(run)["metrics"]
    assert (log.eval.task, log.eval.run_id, len(log.samples)) == ("toy/bm25", run.name, 4)
    assert (log.results.total_samples, log.results.completed_samples) == (4, 3)
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means == {name: one["mean"] for name, one in stored.items()}
    for sample in log.samples:
        row = rows[sample.id]
        failed = row["status"] == "failed"
        assert (sample.error is not None) == failed == (not sample.scores)
        assert sample.output.completion == (row.get("answer") or "")
        assert sample.metadata.get("documents") == row.get("documents")
        assert len(sample.metadata["context"]) == len(row.get("context", {}).get("pieces", []))
    first = next(one for one in log.samples if one.id == "q1")
    assert (first.input, first.target) == ("Who founded the Norvik Observatory?", ["Ada Marsh"])
    assert "ADDRESS" in first.error.message
    passages = {one.id: one.passage for one in api.dataset("toy").documents}
    pieces = [piece for one in log.samples for piece in one.metadata["context"]]
    assert [piece["text"] for piece in pieces] == [passages[piece["id"]] for piece in pieces]
    with zipfile.ZipFile("run.eval") as archive:
        every = b"".join(map(archive.read, archive.namelist())).decode()
    assert ADDRESS not in every and str(tmp_path) not in every
    assert ".eval" in command_error("export", "bm25", "--inspect", "run.txt", name="runs")
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    message = command_error("export", "bm25", "--inspect", "run.eval", name="runs")
    assert "graphrag-bench[adapters]" in message
