"""Cells that launchers run in other processes make the table of those run in this one."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from hydra.errors import MissingConfigException
from toy_runs import TOY, Ended, command, shell

from graphrag_bench.config.compose import EXTRAS, plain_errors
from graphrag_bench.errors import UserError

LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2",
            "+hydra.launcher.ray.init.include_dashboard=false"],
}  # fmt: skip
SWEEP = [*TOY, "method=mine,vanilla", "method.top_k=1,0", "answer=off", "reference_rows=off"]
"""Two cells of a method of one's own and two of ours; every second one is wrong."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words that name a package and a folder with files of one's own."""
    monkeypatch.chdir(tmp_path)
    for folder in ("mylab/configs/method", "theirs/experiment"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mylab" / "__init__.py").touch()
    mine = tmp_path / "mylab" / "configs" / "method" / "mine.yaml"
    mine.write_text("defaults: [vanilla]\nname: mine\ntitle: Mine\n")
    (tmp_path / "theirs" / "experiment" / "two.yaml").write_text("limit: 2\n")
    return ["--config-dir", "theirs", "plugins=[mylab]", "experiment=two"]


def table(ended: Ended) -> str:
    """The table of a sweep of which two cells are done and two have failed."""
    assert ended.code == 1, ended.err
    (line,) = [one for one in ended.out.splitlines() if one.startswith("sweep: ")]
    folder = Path(line.removeprefix("sweep: "))
    found = [json.loads(file.read_text())["status"] for file in folder.glob("*/cell.json")]
    assert sorted(found) == ["done", "done", "failed", "failed"]
    return (folder / "table.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_table_is_that_of_cells_run_here(name: str, own: list[str]) -> None:
    package = f"hydra_{name.partition('_')[0]}_launcher"
    if find_spec(f"hydra_plugins.{package}") is None:
        pytest.skip(f"{package} is not installed")
    launcher = [f"hydra/launcher={name}", *LAUNCHERS[name]]
    there = shell("run", "-m", *own, *launcher, *SWEEP, "paths.home=there")
    here = command("run", "-m", *own, *SWEEP, "paths.home=here")
    assert table(there) == table(here)
    assert "method=mine method.top_k=0 | failed" in table(there)
    assert there.methods == here.methods == ["mine", "vanilla"]


@pytest.mark.parametrize("choice", EXTRAS)
def test_a_plug_in_that_is_not_installed_is_answered_with_its_extra(choice: str) -> None:
    with pytest.raises(UserError, match=rf"graphrag-bench\[{EXTRAS[choice]}\]"), plain_errors():
        raise MissingConfigException("not found", choice.replace("=", "/"))
