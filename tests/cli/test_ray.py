"""A sweep whose cells run in the processes of Ray: what they did is gathered from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, shell

pytest.importorskip("hydra_plugins.hydra_ray_launcher")


def test_cells_run_by_ray_make_the_table_of_those_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = ["-m", *TOY, "method=hipporag", "method.damping=0.1,0.5", "answer=off"]
    ray = ["hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus=2",
           "+hydra.launcher.ray.init.include_dashboard=false"]  # fmt: skip
    here, there = (
        shell("run", *sweep, "paths.home=here"),
        shell("run", *ray, *sweep, "paths.home=there"),
    )
    assert there.code == 0, there.err
    assert (here.folder / "table.md").read_bytes() == (there.folder / "table.md").read_bytes()
    assert len(list(tmp_path.glob("there/multirun/*/*/?/cell.json"))) == 2
