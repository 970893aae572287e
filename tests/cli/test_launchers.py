"""Launchers that run cells in other processes give the same table."""

import os
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from published_sets import written
from toy_runs import TOY, command

LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2",
            "+hydra.launcher.ray.init.include_dashboard=false"],
}  # fmt: skip
OWN = ["--config-dir", "theirs", "plugins=[mylab]", *TOY, "method=mine"]
QUIET = ["answer=off", "reference_rows=off"]


def swept(*words):
    sweep = ["experiment=two", "method.top_k=1,0", *QUIET, *words]
    ended = command("run", "-m", *OWN, *sweep)
    assert (ended.code, ended.methods) == (1, ["mine"]), ended.err
    text = Path(re.findall("(?m)^sweep: (.*)$", ended.out)[0], "table.md").read_text("utf-8")
    assert text.count("top_k=0 | failed |") == 1
    return text


@cache
def of_this_process():
    return swept("paths.home=here")


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_gives_the_table_of_this_process(name, home, monkeypatch):
    """Its jobs resume in one home: nothing is left to build, and no lock."""
    pytest.importorskip(f"hydra_plugins.hydra_{name.partition('_')[0]}_launcher")
    mine = "defaults: [vanilla]\nname: mine\ntitle: Mine\n"
    written(home, {"mylab/__init__.py": "", "mylab/configs/method/mine.yaml": mine,
                   "theirs/experiment/two.yaml": "limit: 2\n"})  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the processes of cells
    there = swept(f"hydra/launcher={name}", *LAUNCHERS[name], "paths.home=there")
    assert there == of_this_process()
    plan = command("plan", *OWN, *QUIET, "method.top_k=1", "paths.home=there").out
    assert re.search(r"^ +0 artifacts +0 ", plan, re.M)
    assert not list(home.glob("**/*.lock"))
