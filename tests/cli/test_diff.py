"""`graphrag-bench diff`: two runs of the toy set, question by question."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, command, metrics, ran, refused, write_set

from graphrag_bench.report.comparisons import baseline_of

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with BM25 on all questions of toy, and HippoRAG on the first four."""
    home = tmp_path_factory.mktemp("runs")
    ran(*QUIET, "method=bm25", f"paths.home={home}")
    ran(*QUIET, "method=hipporag", "limit=4", f"paths.home={home}")
    return home


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def folder(home: Path, method: str) -> str:
    return str(next((home / "runs" / "toy" / method).iterdir()))


def test_metrics_questions_and_settings_are_compared_over_the_shared_questions(home: Path) -> None:
    shown = command("diff", folder(home, "bm25"), folder(home, "hipporag"))
    assert shown.code == 0, shown.err
    row = next(line for line in shown.out.splitlines() if "evidence_recall@2" in line)
    assert " 4 " in row
    assert "gained" in shown.out and "lost" in shown.out
    assert "method.damping: – -> 0.5" in shown.out


def changed_corpus(folder: Path, home: Path, text: str, *more: str) -> Path:
    """A run of BM25 on one question, over a corpus that says something else each time."""
    corpus = [{"id": "a", "text": f"Una rows. {text}"}, {"id": "b", "text": "Bo sinks."}]
    write_set(folder, corpus, [{"id": "q", "text": "Who rows?", "evidence": ["a"]}])
    settings = [
        "dataset=jsonl",
        f"dataset.root={folder}",
        *WEIGHTLESS,
        "answer=off",
        "reference_rows=off",
    ]
    return ran(*settings, "method=bm25", f"paths.home={home}", *more).folder


def test_runs_over_different_versions_of_a_corpus_are_not_paired_unawares(tmp_path: Path) -> None:
    home = tmp_path / "home"
    one, two = (changed_corpus(tmp_path / "mine", home, text) for text in ("Daily.", "Never."))
    assert metrics(one)["corpus"] != metrics(two)["corpus"]
    said = refused(str(one), str(two), name="diff")
    assert "different corpora" in said and one.name in said and "--across-corpora" in said
    shown = command("diff", str(one), str(two), "--across-corpora")
    assert shown.code == 0, shown.err
    assert "! A and B are over different corpora" in shown.out
    listed = command("runs", "ls", "--home", str(home)).out
    assert "! jsonl-mine: these runs are over different versions of its corpus" in listed
    for folder in (one, two):
        assert f"│ {str(metrics(folder)['corpus'])[:8]} │" in listed
    assert "are over different versions" in refused("--home", str(home), "rows=title", name="table")
    table = ["table", "--home", str(home), "values=mrr"]
    for more in ("--across-corpora", "cols=corpus"):
        shown = command(*table, more)
        assert shown.code == 0, shown.err
        assert "! jsonl-mine: these runs are over different versions" in shown.out


def test_a_run_is_not_compared_with_a_baseline_over_another_corpus() -> None:
    one = {"method": "vanilla", "dataset": "toy", "corpus": "aa"}
    other = {"method": "bm25", "dataset": "toy", "corpus": "bb"}
    assert baseline_of(other, [one, other], "vanilla") is None
    old = {"method": "vanilla", "dataset": "toy"}  # from before corpora were kept
    assert baseline_of(other, [one, old, other], "vanilla") is old


def test_runs_are_found_by_the_beginning_of_their_key(home: Path) -> None:
    keys = [Path(folder(home, name)).name[:8] for name in ("bm25", "hipporag")]
    assert command("diff", *keys, "--home", str(home)).code == 0
    assert "No run '" in refused("zzzz", keys[0], "--home", str(home), name="diff")
    assert "required" in refused(keys[0], name="diff")
