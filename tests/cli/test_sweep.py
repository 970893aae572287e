"""Sweeps over methods and settings: their cells, their rows, their plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, records, refused

VANILLA = [*TOY, "method=vanilla", "frame=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_runs_every_cell_and_collapses_what_a_method_lacks() -> None:
    ended = ran("-m", *TOY, "frame=off", "method=vanilla,bm25,hipporag", "method.damping=0.3,0.5")
    assert ended.methods == ["vanilla", "bm25", "hipporag", "hipporag"]
    table = (ended.folder / "table.md").read_text()
    assert "| HippoRAG damping=0.3 |" in table
    assert "| HippoRAG damping=0.5 |" in table
    assert "| VanillaRAG |" in table


def test_a_sweep_over_a_setting_of_the_run_shows_it_in_the_table() -> None:
    ended = ran("-m", *VANILLA, "chunking=token", "chunking.size=12,18", "chunking.overlap=4")
    assert len(set(ended.folders)) == 2
    table = (ended.folder / "table.md").read_text()
    assert "VanillaRAG chunking.size=12" in table
    assert "VanillaRAG chunking.size=18" in table


def test_a_build_setting_may_be_swept_past_methods_that_do_not_build_it() -> None:
    sweep = ["-m", *TOY, "frame=off", "method=vanilla,hipporag", "answer=off"]
    assert ran(*sweep, "build.extraction=nlp").methods == ["vanilla", "hipporag"]
    assert "build.extraction" in refused(*VANILLA, "build.extraction=nlp")


def test_a_sweep_over_how_much_is_done_has_a_row_for_each_and_one_folder() -> None:
    ended = ran("-m", *VANILLA, "limit=2,4")
    assert len(ended.folders) == 1
    table = (ended.folder / "table.md").read_text()
    assert "| VanillaRAG limit=2 | 2 |" in table
    assert "| VanillaRAG limit=4 | 4 |" in table
    assert len(records(ended.folder)) == 4


def test_a_sweep_takes_launchers_and_sweepers_of_hydra() -> None:
    hydra = ["hydra/launcher=basic", "hydra/sweeper=basic", "hydra.sweep.dir=elsewhere"]
    ended = ran("-m", *hydra, *VANILLA, "limit=1", "method.top_k=1,2")
    assert len(set(ended.folders)) == 2


def test_glob_takes_every_method() -> None:
    ended = ran("-m", *TOY, "method=glob(*)", "limit=1")
    assert {"bm25", "hipporag", "oracle", "vanilla", "zeroshot"} <= set(ended.methods)
    assert len(ended.folders) == len(set(ended.folders))


def test_a_home_with_signs_of_a_sweep_in_its_name_works(home: Path) -> None:
    folder = home / "a, b (c)"
    folder.mkdir()
    ended = ran("-m", *VANILLA, "limit=1", "method.top_k=1,2", f'paths.home="{folder}"')
    assert all(folder in path.parents for path in ended.folders)


def test_the_plan_of_a_sweep_counts_different_runs() -> None:
    planned = command("plan", "-m", *TOY, "method=vanilla,hipporag", "method.damping=0.3,0.5")
    assert planned.out.splitlines()[-1] == "cells: 4, different runs: 3, same: 1"
