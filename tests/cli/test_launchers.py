"""Cells that launchers run in other processes make the table of those run in this one."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from toy_runs import TOY, Ended, command, shell

LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2",
            "+hydra.launcher.ray.init.include_dashboard=false"],
}  # fmt: skip
SWEEP = [*TOY, "method=mine", "method.top_k=1,0", "answer=off", "reference_rows=off"]
"""Two cells of a method of one's own, of which one is wrong."""


def table(ended: Ended) -> str:
    """The table of a sweep of which one cell is done and one has failed."""
    assert ended.code == 1, ended.err
    (line,) = [one for one in ended.out.splitlines() if one.startswith("sweep: ")]
    text = (Path(line.removeprefix("sweep: ")) / "table.md").read_text("utf-8")
    assert text.count("top_k=0 | failed |") == 1
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_table_is_that_of_cells_run_here(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"hydra_{name.partition('_')[0]}_launcher"
    if find_spec(f"hydra_plugins.{package}") is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    for folder in ("mylab/configs/method", "theirs/experiment"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mylab" / "__init__.py").touch()
    mine = tmp_path / "mylab" / "configs" / "method" / "mine.yaml"
    mine.write_text("defaults: [vanilla]\nname: mine\ntitle: Mine\n")
    (tmp_path / "theirs" / "experiment" / "two.yaml").write_text("limit: 2\n")
    own = ["--config-dir", "theirs", "plugins=[mylab]", "experiment=two"]
    launcher = [f"hydra/launcher={name}", *LAUNCHERS[name]]
    there = shell("run", "-m", *own, *launcher, *SWEEP, "paths.home=there")
    here = command("run", "-m", *own, *SWEEP, "paths.home=here")
    assert table(there) == table(here)
    assert there.methods == here.methods == ["mine"]
