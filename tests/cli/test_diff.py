"""`graphrag-bench diff`: two runs of the toy set, question by question."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

QUIET = [*TOY, "answer=off", "frame=off"]


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


def test_a_higher_value_is_called_higher_and_not_better(home: Path) -> None:
    shown = command("diff", folder(home, "bm25"), folder(home, "hipporag")).out
    assert (
        "B higher" in shown and "A higher" in shown and "better" not in shown.split("over the")[0]
    )
    assert "evidence_cut, option_unread more is not better" in " ".join(shown.split())


def test_a_run_compared_with_itself_does_not_differ(home: Path) -> None:
    shown = command("diff", folder(home, "bm25"), folder(home, "bm25")).out
    assert "+0.000 [+0.000, +0.000]" in shown and "1.0000" in shown
    assert shown.rstrip().endswith("settings that differ")


def test_runs_are_found_by_the_beginning_of_their_key(home: Path) -> None:
    keys = [Path(folder(home, name)).name[:8] for name in ("bm25", "hipporag")]
    assert command("diff", *keys, "--home", str(home)).code == 0
    assert "is no run below" in refused("zzzz", keys[0], "--home", str(home), name="diff")
    assert "required" in refused(keys[0], name="diff")
