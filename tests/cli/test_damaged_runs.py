"""One damaged run folder is named and left out; whatever else is asked for goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_runs import TOY, command, metrics, ran, records, refused

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with BM25 and HippoRAG on toy, and the records of each."""
    home = tmp_path_factory.mktemp("made")
    for method in ("bm25", "hipporag"):
        ran(*QUIET, f"method={method}", f"paths.home={home}")
    return home


@pytest.fixture(autouse=True)
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    return tmp_path


def folder(method: str) -> Path:
    return next(Path("runs/toy", method).iterdir())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def another_kind(path: Path) -> None:
    path.write_text("[1, 2]\n")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [cut, another_kind, a_folder]
FILES = ["metrics.json", "config.yaml", "records.jsonl", "artifacts.json"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: one.__name__)
def test_a_damaged_run_is_named_and_the_others_are_there(
    name: str, damage: Callable[[Path], None]
) -> None:
    damage(folder("hipporag") / name)
    key = folder("hipporag").name
    listed = command("runs", "ls")
    assert listed.code == 0, listed.err
    said = " ".join(listed.out.split())
    assert f"{key} is damaged ({name}" in said and "│ bm25" in listed.out
    table = command("table", "rows=method", "values=evidence_recall@5")
    assert table.code == 0, table.err
    assert "bm25" in table.out and "hipporag" not in table.out
    assert f"{key} is damaged ({name}" in table.err
    assert f"({name}" in refused("show", key[:6], name="runs")
    assert f"({name}" in refused(str(folder("bm25")), str(folder("hipporag")), name="diff")
    collected = command("runs", "gc", "--delete")
    assert collected.code == 0, collected.err
    assert "0 of 0 removed" in collected.out and "are kept" in collected.out
    assert command("runs", "rm", key, "--yes").code == 0


@pytest.mark.parametrize("name", ["metrics.json", "config.yaml", "records.jsonl", "artifacts.json"])
@pytest.mark.parametrize("damage", [cut, another_kind], ids=lambda one: one.__name__)
def test_the_same_command_makes_a_damaged_run_whole(
    made: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(folder("hipporag") / name)
    ran(*QUIET, "method=hipporag")
    whole = made / folder("hipporag")
    assert records(folder("hipporag")) == records(whole)
    for held in ("artifacts.json", "config.yaml"):
        assert (folder("hipporag") / held).read_text() == (whole / held).read_text()
    assert metrics(folder("hipporag"))["metrics"] == metrics(whole)["metrics"]


def test_a_cut_artifact_recipe_does_not_break_a_run_of_another() -> None:
    for path in Path("artifacts/toy/graph").glob("*/recipe.json"):
        cut(path)
    ran(*QUIET, "method=bm25", "limit=2")
    assert command("runs", "ls").code == command("runs", "gc").code == 0
    assert "recipe.json" in refused(*QUIET, "method=hipporag", "method.damping=0.2")
