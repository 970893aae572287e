"""Sweeps by Hydra: cells that fail, tables that are written, what is refused before it is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TOY, command

from graphrag_bench.experiment import session
from graphrag_bench.experiment.experiment import Experiment

pytestmark = pytest.mark.slow

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(folder: str) -> list[dict[str, object]]:
    files = sorted(Path(folder).glob("*/cell.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def test_a_failed_cell_is_a_row_and_the_others_finish(here: Path) -> None:
    words = ["run", "-m", *QUIET, "method=bm25", "dataset=toy,musique", "hydra.sweep.dir=s"]
    ended = command(*words)
    assert ended.code == 1
    assert [cell["status"] for cell in cells("s")] == ["done", "failed"]
    assert "| dataset=musique | failed |" in Path("s/table.md").read_text()
    assert Path("s/table.csv").read_text().count("failed") >= 1
    assert (here / "s" / "0" / "run" / "records.jsonl").is_file()
    seconds = ended.folder.joinpath("timing.jsonl").read_bytes()
    again = command(*words)
    assert again.code == 1
    assert again.folder.joinpath("timing.jsonl").read_bytes() == seconds


def test_a_sweep_that_is_wrong_in_every_cell_is_refused_before_it_begins(here: Path) -> None:
    for words in (
        ["method=bm25,vanilla", "limit=many"],
        ["method=bm25", "dataset=musique,popqa"],
        ["method=bm25,zeroshot", "build.graph.edge_drop=0.1"],
        ["method=bm25,vanilla", "objective=nothing"],
    ):
        ended = command("run", "-m", *QUIET, *words, "hydra.sweep.dir=s")
        assert ended.code == 2, ended.err
        assert "Traceback" not in ended.err
        assert not (here / "s" / "0").exists()
    ended = command("run", "-m", *QUIET, "method=bm25,vanilla", "build.graph.edge_drop=0.1")
    assert "build.graph.edge_drop" in ended.err


def test_a_cell_in_which_the_program_fails_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = session.execute

    def broken(experiment: Experiment, progress: object) -> object:
        if experiment.method.name == "bm25":
            raise ZeroDivisionError("of the program")
        return execute(experiment)

    monkeypatch.setattr(session, "execute", broken)
    ended = command("run", "-m", *QUIET, "method=bm25,vanilla", "hydra.sweep.dir=s")
    assert ended.code == 1
    assert "ZeroDivisionError" in ended.err
    assert [cell["status"] for cell in cells("s")] == ["failed", "done"]


def test_equal_cells_run_once_and_the_best_is_named(here: Path) -> None:
    ended = command(
        "run", "-m", *QUIET, "method=vanilla", "method.n_retrieved=1,2,1", "split=dev",
        "objective=evidence_recall@2", "hydra.sweep.dir=s",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(ended.folders) == 2
    assert "evidence_recall@2" in ended.out
    command_line = next(line for line in ended.out.splitlines() if "split=test" in line)
    assert "method.n_retrieved=" in command_line and "split=dev" not in command_line


def test_a_run_leaves_its_configuration_and_its_log(here: Path) -> None:
    ended = command("run", *QUIET, "method=bm25", "hydra.run.dir=out")
    for folder in (here / "out", ended.folder):
        found = {path.name for path in (folder / ".hydra").iterdir()}
        assert found == {"config.yaml", "overrides.yaml", "hydra.yaml"}
        assert (folder / "run.log").is_file()
    assert (here / "out" / "run").resolve() == ended.folder
    moved = command("run", *QUIET, "method=bm25", "hydra.run.dir=other", "hydra.job.chdir=true")
    assert moved.folder == ended.folder


def test_a_secret_in_a_file_is_refused_before_anything_is_written(here: Path) -> None:
    file = here / "configs" / "llm" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: toy_runs.reader\nbase_url: https://me:secret@host/v1\n")
    for words in (["run", "hydra.run.dir=o"], ["run", "-m", "seed=1,2", "hydra.sweep.dir=o"]):
        ended = command(*words, "dataset=toy", "method=bm25", "llm=mine")
        assert ended.code == 2
        assert "secret" not in ended.err
    assert [path for path in here.rglob("*") if path.is_file() and path != file
            and b"secret" in path.read_bytes()] == []  # fmt: skip
