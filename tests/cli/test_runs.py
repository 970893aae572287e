"""`graphrag-bench runs`: listed, shown, removed, and what no run needs collected."""

import csv
import io
import json
import os
import shutil
import time
from pathlib import Path

import pytest
from filelock import FileLock
from toy_runs import TOY, command, run_folder

from graphrag_bench.errors import UserError
from graphrag_bench.run import cleanup

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copied")]

QUIET = [*TOY, "answer=off", "reference_rows=off"]
BUILT = [[*QUIET, "method=bm25"], [*QUIET, "method=hipporag", "limit=4"]]


def folder(home: Path, method: str) -> Path:
    return next((home / "runs" / "toy" / method).iterdir())


def collectable(home: Path) -> set[str]:
    return {str(item.path.relative_to(home)) for item in cleanup.garbage(home)[0]}


def test_nothing_outside_the_runs_is_removed(home: Path) -> None:
    outside = home / "elsewhere" / "toy" / "bm25" / "abc"
    shutil.copytree(folder(home, "bm25"), outside)
    link = home / "runs" / "toy" / "bm25" / "abc"
    link.symlink_to(outside)
    for name in (str(outside), str(link), str(home / "runs"), "..", "/", "abc", ""):
        with pytest.raises(UserError):
            cleanup.find_folder(name, home)


def test_a_run_that_a_process_works_on_is_not_removed(home: Path) -> None:
    target = folder(home, "bm25")
    for lock in ("run.lock", "run.2-of-3.lock"):
        with FileLock(target / lock), pytest.raises(UserError, match=target.name):
            cleanup.remove_run(target)
    assert (target / "records.jsonl").is_file()


def test_what_only_a_removed_run_referred_to_is_listed_collected_and_built_again(
    home: Path,
) -> None:
    target = folder(home, "hipporag")
    records = (target / "records.jsonl").read_bytes()
    (run,) = json.loads((target / "artifacts.json").read_text())["artifacts"]
    own = {f"artifacts/toy/{name}/{key}" for name, key in run["keys"].items()}
    shared = {path for path in own if "chunk_table" in path}
    assert collectable(home) == set()
    assert command("runs", "rm", str(target)).code == 1 and target.is_dir()
    assert command("runs", "rm", target.name, "--yes").code == 0
    assert not target.parent.exists() and folder(home, "bm25").is_dir()
    assert collectable(home) == own - shared
    paid = home / "cache" / "replies.sqlite"
    paid.parent.mkdir(exist_ok=True)
    paid.touch()
    assert command("runs", "gc", "--delete").code == 0 and paid.is_file()
    paid.unlink()
    assert {path for path in own if (home / path).is_dir()} == shared
    run_folder(*QUIET, "method=hipporag", "limit=4")
    assert (folder(home, "hipporag") / "records.jsonl").read_bytes() == records


def test_unfinished_builds_and_files_are_collected_unless_at_work(home: Path) -> None:
    written = folder(home, "bm25") / "metrics.json.4711.new"
    written.write_text("{")
    assert collectable(home) == set()
    os.utime(written, (time.time() - 3700, time.time() - 3700))  # an hour ago
    assert collectable(home) == {str(written.relative_to(home))}
    written.unlink()
    graphs = home / "artifacts" / "toy" / "graph"
    built = next(path for path in graphs.iterdir() if path.is_dir())
    scratch = [graphs / f"{name}.scratch" for name in (built.name, "aaaa", "bbbb")]
    for path in scratch:
        path.mkdir()
    with FileLock(graphs / "aaaa.lock"):
        names = {Path(path).name for path in collectable(home)}
    assert names == {scratch[0].name, scratch[2].name}


def test_the_csv_has_a_row_for_each_scored_run_and_the_settings_that_differ(home: Path) -> None:
    listed = json.loads(command("runs", "ls", "--json").out)
    assert [(one["method"], one["n_rows"]) for one in listed] == [("bm25", 6), ("hipporag", 4)]
    rows = list(csv.DictReader(io.StringIO(command("runs", "ls", "--format", "csv").out)))
    hipporag = max(rows, key=lambda row: row["method"])
    assert {(row["method"], row["limit"], row["n"]) for row in rows} == {
        ("bm25", "", "6"), ("hipporag", "4", "4"),
    }  # fmt: skip
    ends = [float(hipporag[f"evidence_recall@5{end}"]) for end in ("_low", "", "_high")]
    assert ends == sorted(ends) and ends[0] > 0 and ends[-1] <= 1
    assert Path(hipporag["folder"]) == folder(home, "hipporag").relative_to(home)
    assert "seed" not in hipporag
