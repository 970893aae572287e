"""Launchers that run cells in other processes give the same table."""

import os
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from toy_runs import TOY, command

LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2",
            "+hydra.launcher.ray.init.include_dashboard=false"],
}  # fmt: skip
SWEEP = [*TOY, "method=mine", "method.top_k=1,0", "answer=off", "reference_rows=off"]
"""Two cells of a new method, one of them with a wrong setting."""


def swept(*words: str) -> str:
    """The table of the sweep; one cell has failed."""
    own = ["--config-dir", "theirs", "plugins=[mylab]", "experiment=two"]
    ended = command("run", "-m", *own, *SWEEP, *words)
    assert (ended.code, ended.methods) == (1, ["mine"]), ended.err
    (line,) = [one for one in ended.out.splitlines() if one.startswith("sweep: ")]
    text = (Path(line.removeprefix("sweep: ")) / "table.md").read_text("utf-8")
    assert text.count("top_k=0 | failed |") == 1
    return text


@cache
def of_this_process() -> str:
    """The table of cells run in this process."""
    return swept("paths.home=here")


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_gives_the_table_of_this_process(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(f"hydra_plugins.hydra_{name.partition('_')[0]}_launcher")
    for file, text in (
        ("mylab/__init__.py", ""),
        ("mylab/configs/method/mine.yaml", "defaults: [vanilla]\nname: mine\ntitle: Mine\n"),
        ("theirs/experiment/two.yaml", "limit: 2\n"),
    ):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the processes of cells
    there = swept(f"hydra/launcher={name}", *LAUNCHERS[name], "paths.home=there")
    assert there == of_this_process()


@pytest.mark.slow
def test_rows_of_a_paper_are_jobs_that_resume_in_one_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    rows = "row=glob([zhou2025.table5.Vanilla*,zhou2025.table5.RAPTOR])"
    words = ["-m", rows, *TOY, "answer=off", "limit=1"]
    planned = command("plan", *words).out
    assert "cells: 2" in planned and re.search(r"^ +[1-9]\d* artifacts", planned, re.M)
    ended = command("run", *words, "hydra/launcher=submitit_local")
    assert (ended.code, sorted(ended.methods)) == (0, ["raptor", "vanilla"]), ended.err
    assert re.search(r"^ +0 artifacts +0 ", command("plan", *words).out, re.M)
    assert not list(home.glob("**/*.lock"))
