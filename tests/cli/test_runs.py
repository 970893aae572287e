"""`graphrag-bench runs`: listed, shown, removed, and what no run needs collected."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock
from toy_runs import TOY, command, ran, refused

pytestmark = pytest.mark.slow

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with BM25 and HippoRAG on toy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")
    ran(*QUIET, "method=bm25")
    ran(*QUIET, "method=hipporag", "limit=4")
    return tmp_path


def folder(home: Path, method: str) -> Path:
    return next((home / "runs" / "toy" / method).iterdir())


def said(*words: str) -> str:
    ended = command("runs", *words)
    assert ended.code == 0, ended.err
    return ended.out


def collectable(*words: str) -> list[str]:
    """The paths that `gc` lists."""
    lines = said("gc", *words).splitlines()
    return [line.split("│")[1].strip() for line in lines if line.startswith("│")]


def test_every_run_is_a_line_with_its_counts(home: Path) -> None:
    lines = [line for line in said("ls").splitlines() if "│ toy" in line]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    assert [row[1] for row in cells] == ["bm25", "hipporag"]
    assert [row[2] for row in cells] == [folder(home, m).name for m in ("bm25", "hipporag")]
    assert [row[3:6] for row in cells] == [["6", "0", "0"], ["4", "0", "0"]]


def test_the_list_is_filtered_and_a_wrong_filter_is_answered_with_the_valid_ones() -> None:
    assert "hipporag" not in said("ls", "dataset=toy", "method=bm25")
    assert "'hipporag'" in refused("ls", "method=hiporag", name="runs")
    assert "dataset" in refused("ls", "datset=toy", name="runs")


def test_a_run_is_shown_with_configuration_metrics_cost_artifacts_and_files(home: Path) -> None:
    shown = said("show", folder(home, "hipporag").name[:6])
    assert "method.damping = 0.5" in shown
    assert "evidence_recall@5" in shown
    assert "toy/graph/" in shown and "  there" in shown
    assert "records.jsonl" in shown and "python = " in shown


def test_a_run_is_removed_and_the_others_and_the_artifacts_stay(home: Path) -> None:
    gone, kept = folder(home, "bm25"), folder(home, "hipporag")
    before = sorted((home / "artifacts").rglob("*"))
    assert f"removed: {gone.relative_to(home)}" in said("rm", gone.name, "--yes")
    assert not gone.parent.exists() and kept.is_dir()
    assert sorted((home / "artifacts").rglob("*")) == before


def test_without_yes_the_user_is_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folder(home, "bm25")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    ended = command("runs", "rm", str(target))
    assert ended.code == 1 and "nothing was removed" in ended.out and target.is_dir()
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "--yes" in refused("rm", str(target), name="runs")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert command("runs", "rm", str(target)).code == 0 and not target.exists()


def test_nothing_outside_the_runs_is_removed(home: Path) -> None:
    outside = home / "elsewhere" / "toy" / "bm25" / "abc"
    outside.mkdir(parents=True)
    (outside / "config.yaml").write_text("{}")
    (outside / "metrics.json").write_text("{}")
    link = home / "runs" / "toy" / "bm25" / "abc"
    link.symlink_to(outside)
    for name in (str(outside), str(link), str(home), str(home / "runs"), "..", "/", "abc", ""):
        said = refused("rm", name, "--yes", name="runs").lower()
        assert "no run" in said or "not a run folder" in said, name
    assert (outside / "metrics.json").is_file() and folder(home, "hipporag").is_dir()


def test_a_run_that_a_process_works_on_is_not_removed(home: Path) -> None:
    target = folder(home, "bm25")
    with FileLock(target / "run.lock"):
        assert "at work" in refused("rm", str(target), "--yes", name="runs")
    with FileLock(target / "run.2-of-3.lock"):
        assert "at work" in refused("rm", str(target), "--yes", name="runs")
    assert (target / "records.jsonl").is_file()


def test_nothing_that_a_run_refers_to_is_collected() -> None:
    assert collectable() == []


def test_what_only_a_removed_run_referred_to_is_listed_and_only_deleted_when_asked(
    home: Path,
) -> None:
    keys = json.loads((folder(home, "hipporag") / "artifacts.json").read_text())
    (held,) = keys["artifacts"]
    said("rm", folder(home, "hipporag").name, "--yes")
    own = {f"artifacts/toy/{name}/{held['keys'][name]}" for name in held["keys"]}
    shared = {path for path in own if "chunk_table" in path}
    assert set(collectable()) == own - shared
    assert all((home / path).is_dir() for path in own)
    assert set(collectable("--delete")) == own - shared
    assert [(home / path).is_dir() for path in own - shared] == [False] * len(own - shared)
    assert all((home / path).is_dir() for path in shared)
    assert not (home / "artifacts" / "toy" / "graph").exists()


def test_a_run_with_its_artifacts_collected_builds_them_again(home: Path) -> None:
    before = (folder(home, "hipporag") / "records.jsonl").read_bytes()
    said("rm", folder(home, "hipporag").name, "--yes")
    said("gc", "--delete")
    ran(*QUIET, "method=hipporag", "limit=4")
    assert (folder(home, "hipporag") / "records.jsonl").read_bytes() == before


def replies(home: Path) -> list[tuple[object, ...]]:
    """The rows of the cache; its bytes change when a connection that wrote it is closed later."""
    with closing(sqlite3.connect(home / "cache" / "replies.sqlite")) as cache:
        return sorted(cache.execute("SELECT * FROM replies"), key=repr)


def test_the_cache_of_replies_is_never_touched(home: Path) -> None:
    ran(*TOY, "method=zeroshot", "reference_rows=off")
    paid = replies(home)
    assert paid
    for method in ("bm25", "hipporag", "zeroshot"):
        said("rm", folder(home, method).name, "--yes")
    said("gc", "--delete")
    assert replies(home) == paid
    assert not (home / "artifacts" / "toy").exists()


def test_broken_off_builds_are_collected_unless_one_is_running_or_waited_for(home: Path) -> None:
    graphs = home / "artifacts" / "toy" / "graph"
    built = next(path for path in graphs.iterdir() if path.is_dir())
    left_behind, running, stray = (
        graphs / f"{name}.scratch" for name in (built.name, "aaaa", "bbbb")
    )
    for path in (left_behind, running, stray):
        path.mkdir()
    with FileLock(graphs / "aaaa.lock"):
        found = {Path(path).name for path in collectable()}
        assert found == {left_behind.name, stray.name}
    (built / "recipe.json").unlink()  # as if the build of the stored run were not finished
    assert left_behind.name not in {Path(path).name for path in collectable()}


def test_files_that_were_never_finished_are_collected_after_an_hour(home: Path) -> None:
    written = folder(home, "bm25") / "metrics.json.4711.new"
    written.write_text("{")
    assert collectable() == []
    an_hour_ago = time.time() - 3700
    os.utime(written, (an_hour_ago, an_hour_ago))
    assert [Path(path).name for path in collectable()] == [written.name]


def test_a_run_that_does_not_say_what_it_used_is_asked_for_its_plan(home: Path) -> None:
    (folder(home, "hipporag") / "artifacts.json").unlink()
    assert collectable() == []


def test_when_its_plan_is_another_one_by_now_all_artifacts_of_the_set_are_kept(home: Path) -> None:
    held = folder(home, "hipporag")
    (held / "artifacts.json").unlink()
    held.rename(held.with_name("0" * 12))
    said("rm", folder(home, "bm25").name, "--yes")
    shown = said("gc")
    assert "0 could be removed" in shown and "all artifacts of toy are kept" in shown


def test_the_list_as_csv_has_a_row_for_each_scored_run_and_the_settings_that_differ(
    home: Path,
) -> None:
    bm25, hipporag = csv.DictReader(io.StringIO(said("ls", "--format", "csv")))
    assert (bm25["key"], bm25["dataset"], bm25["method"]) == (
        folder(home, "bm25").name, "toy", "bm25",
    )  # fmt: skip
    assert [(row["limit"], row["n"], row["failed"]) for row in (bm25, hipporag)] == [
        ("", "6", "0"), ("4", "4", "0"),
    ]  # fmt: skip
    low, mean, high = (
        float(hipporag[f"evidence_recall@5{side}"]) for side in ("_low", "", "_high")
    )
    assert 0 < low <= mean <= high <= 1
    assert (hipporag["calls"], float(hipporag["usd"])) == ("0", 0)
    assert Path(hipporag["folder"]) == folder(home, "hipporag").relative_to(home)
    assert "seed" not in hipporag
    alone = list(csv.DictReader(io.StringIO(said("ls", "method=bm25", "--format", "csv"))))
    assert len(alone) == 1 and "limit" not in alone[0]
    assert "csv" in refused("ls", "--format", "cvs", name="runs")


def test_an_imported_run_has_a_row_in_the_csv(home: Path) -> None:
    results = home / "results.jsonl"
    results.write_text('{"question": "q1", "documents": ["ada"]}\n')
    said("import", str(results), "dataset=toy", "name=Other")
    rows = list(csv.DictReader(io.StringIO(said("ls", "--format", "csv"))))
    (other,) = (row for row in rows if row["method"] == "imported-other")
    assert (other["n"], other["calls"], other["limit"]) == ("1", "", "")
