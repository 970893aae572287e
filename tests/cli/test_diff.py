"""`graphrag-bench diff`: two runs of the toy set, question by question."""

import json
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, command, metrics, run_folder, write_set

from graphrag_bench.cli.diff import diff_lines
from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import baseline_of
from graphrag_bench.run.stored import find_run

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with BM25 on all questions of toy, and HippoRAG on the first four."""
    home = tmp_path_factory.mktemp("runs")
    run_folder(*QUIET, "method=bm25", f"paths.home={home}")
    run_folder(*QUIET, "method=hipporag", "limit=4", f"paths.home={home}")
    return home


def folder(home: Path, method: str) -> str:
    return str(next((home / "runs" / "toy" / method).iterdir()))


def test_metrics_questions_and_settings_are_compared_over_the_shared_questions(home: Path) -> None:
    pair = [folder(home, name) for name in ("bm25", "hipporag")]
    values = json.loads(command("diff", *pair, "--json").out)
    assert values["metrics"]["evidence_recall@2"]["n"] == 4
    assert {"path": "method.damping", "a": "–", "b": "0.5"} in values["settings"]
    shown = command("diff", *pair).out
    assert "evidence_recall@2" in shown and "method.damping: – -> 0.5" in shown
    assert "gained" in shown and "lost" in shown


def changed_corpus(folder: Path, home: Path, text: str, *more: str) -> Path:
    """A run of BM25 on one question, over a corpus that says something else each time."""
    corpus = [{"id": "a", "text": f"Una rows. {text}"}, {"id": "b", "text": "Bo sinks."}]
    write_set(folder, corpus, [{"id": "q", "text": "Who rows?", "evidence": ["a"]}])
    settings = ["dataset=jsonl", f"dataset.root={folder}", *WEIGHTLESS, "answer=off"]
    return run_folder(*settings, "method=bm25", f"paths.home={home}", *more)


def test_runs_over_different_versions_of_a_corpus_are_not_paired_unawares(tmp_path: Path) -> None:
    home = tmp_path / "home"
    one, two = (changed_corpus(tmp_path / "mine", home, text) for text in ("Daily.", "Never."))
    pair = [find_run(str(run), home) for run in (one, two)]
    assert metrics(one)["corpus"] != metrics(two)["corpus"]
    with pytest.raises(UserError, match=one.name):
        list(diff_lines(*pair))


def test_a_run_is_not_compared_with_a_baseline_over_another_corpus() -> None:
    one = {"method": "vanilla", "dataset": "toy", "corpus": "aa"}
    other = {"method": "bm25", "dataset": "toy", "corpus": "bb"}
    assert baseline_of(other, [one, other], "vanilla") is None
    old = {"method": "vanilla", "dataset": "toy"}  # from before corpora were kept
    assert baseline_of(other, [one, old, other], "vanilla") is old
