"""Scores of stored runs: one gold, one rule, from any folder."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from toy_runs import WEIGHTLESS, command, metrics, run_folder, write_set

from graphrag_bench.api import stored_runs
from graphrag_bench.cli.diff import diff_lines
from graphrag_bench.config.settings import DatasetSettings
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.report.notes import run_notes
from graphrag_bench.run.imported import QRELS, TREC, export_trec, import_run
from graphrag_bench.run.stored import (
    StoredRun,
    find_run,
    relocate,
    rescore,
    scores_of,
    with_one_rule,
)
from graphrag_bench.run.sweep import find_runs

CORPUS = [{"id": name, "text": f"{name.title()} rows. It is {name}."} for name in ("una", "bo")]


def questions(*evidence: str) -> list[dict[str, object]]:
    return [
        {"id": f"q{n}", "text": "Who is una?", "answers": ["una"], "evidence": [one]}
        for n, one in enumerate(evidence)
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write_set(Path("town"), CORPUS, questions("una", "una"))
    return tmp_path / "work"


def run(method: str, *more: str) -> Path:
    quiet = ["dataset=jsonl", "dataset.root=town", *WEIGHTLESS, "answer=off"]
    return run_folder(*quiet, f"method={method}", "evaluation.cuts=[1,2]", *more)


def recalls(runs: Sequence[StoredRun], metric: str = "evidence_recall@1") -> list[float]:
    return [run.metrics["metrics"][metric]["mean"] for run in runs]


def test_runs_are_scored_by_the_current_gold(home: Path) -> None:
    before = run("bm25")
    write_set(Path("town"), CORPUS, questions("bo", "una"))
    after = run("vanilla")
    assert metrics(before)["gold"] != metrics(after)["gold"]
    stored: Any = metrics(before)["metrics"]
    assert stored["evidence_recall@1"]["mean"] == 1.0
    bm25, vanilla = find_runs(["runs"], ".")
    assert sorted(one["evidence_recall@1"] for one in bm25.scores.values()) == [0.0, 1.0]
    assert recalls([bm25]) == recalls([find_run(before.name, ".")]) == [0.5]
    frame = stored_runs()
    assert frame[frame.method == "bm25"]["evidence_recall@1"].mean() == 0.5
    assert "gold" in [note.about for note in run_notes([bm25.metrics]) if note.warns]
    assert metrics(before)["metrics"] == stored
    rescore(bm25, {})
    assert metrics(before)["gold"] == metrics(after)["gold"]
    assert "regraded" not in metrics(before)


def test_different_gold_without_data_set_is_refused(home: Path) -> None:
    run("bm25")
    write_set(Path("town"), CORPUS, questions("bo", "una"))
    run("vanilla")
    Path("town").rename("city")
    with pytest.raises(UserError, match=str(home / "town")):
        find_runs(["runs"], ".")
    for one in sorted(Path("runs").glob("*/*/*")):
        relocate(StoredRun(find_run(str(one), ".").folder), {"root": "city"})
    assert {one.metrics["gold"] for one in find_runs(["runs"], ".")} == {
        read_dataset("jsonl", "city").gold_digest
    }
    write_set(Path("other"), [{**CORPUS[0], "text": "Una sinks."}, CORPUS[1]], questions("una"))
    with pytest.raises(UserError, match="other"):
        relocate(find_runs(["runs"], ".")[0], {"root": "other"})


def imported(home: Path, name: str) -> StoredRun:
    file = home / f"{name}.jsonl"
    rows = [{"question": f"q{n}", "documents": ["una"], "answer": "unable"} for n in range(2)]
    file.write_text("\n".join([*map(json.dumps, rows), *"\n" * len(name)]))
    return import_run(file, name, DatasetSettings(name="jsonl", root="town"), home)


def test_runs_are_scored_by_the_rule_of_the_first(home: Path) -> None:
    first, second = imported(home, "a"), imported(home, "bb")
    rescore(second, {"containment": "token_boundary"})
    again = [find_run(one.folder.path.name, home) for one in (first, second)]
    assert recalls(again, "accuracy") == [1.0, 0.0]
    for pair in (again, again[::-1]):
        same = with_one_rule(pair)
        assert len(set(recalls(same, "accuracy"))) == 1
        assert same[1].metrics["scored_as"].startswith("evaluation.containment=")
        assert "rule" in [note.about for note in run_notes([one.metrics for one in same])]
    lines = [line for line in diff_lines(*again) if isinstance(line, str)]
    assert "  evaluation.containment: substring -> token_boundary" in lines
    assert stored_runs(home).columns.isin(["evaluation.containment"]).any()


def test_run_is_read_from_any_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run("bm25")
    monkeypatch.chdir(home.parent)
    stored = find_run(str(path), ".")
    assert stored.require_dataset().root == str(home / "town")
    assert export_trec(stored, Path("both")) == 2
    write_set(home / "town", CORPUS, questions("una", "bo"))
    ended = command("runs", "export", str(path), "--trec", "new", "--beir", "new")
    assert (ended.code, ended.err.count("gold changed")) == (0, 1)
    assert Path("new", QRELS).read_text() == "q0 0 una 1\nq1 0 bo 1\n"
    assert read_dataset("beir", "new").gold["q1"].evidence == ("bo",)
    shutil.rmtree(home / "town")
    gone = find_run(str(path), ".")
    with pytest.raises(UserError, match=str(home / "town")):
        gone.require_dataset()
    ended = command("runs", "export", str(path), "--trec", "alone")
    assert (ended.code, ended.err.count(f"No {QRELS}"), len(ended.err.splitlines())) == (0, 1, 1)
    assert (Path("alone") / TREC).read_bytes() == (Path("both") / TREC).read_bytes()
    assert not (Path("alone") / QRELS).exists()


def test_repeats_are_scored_with_the_data_set_in_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(home / "data" / "jsonl", CORPUS, questions("una"))
    path = run_folder("dataset=jsonl", *WEIGHTLESS, "method=vanilla", "repeats=2")
    for place, answer in ((path, "no"), (path / "trial-1", "una")):
        row = json.loads((place / "records.jsonl").read_text())
        (place / "records.jsonl").write_text(json.dumps({**row, "answer": answer}))
    monkeypatch.chdir(home.parent)
    assert scores_of(find_run(str(path), "."))["q0"]["f1"] == 0.5


@pytest.mark.parametrize("layout", ["trec", "beir"])
def test_gold_with_alternatives_is_in_no_qrels(home: Path, layout: str) -> None:
    alternatives = [questions("una")[0], {"id": "q1", "text": "Who?", "evidence": [["una", "bo"]]}]
    write_set(home / "town", CORPUS, alternatives)
    ended = command("runs", "export", str(run("bm25")), f"--{layout}", "out")
    assert ended.code == 2 and not Path("out").exists()
    assert all(one in ended.err for one in ("'q1'", "'una or bo'", layout.upper()))


def test_root_is_relative_to_the_file_of_the_data_set(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "town.yaml").write_text("name: jsonl\nroot: town\n")
    monkeypatch.chdir(home.parent)
    path = run_folder("dataset=./work/town.yaml", *WEIGHTLESS, "answer=off", "method=bm25")
    assert metrics(path)["n"] == 2
