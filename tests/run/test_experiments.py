"""Every file of configs/experiment is a sweep that runs: its cells compose and can be prepared."""

from pathlib import Path

import pytest
from hydra.types import RunMode
from toy_runs import TOY

from graphrag_bench.config.compose import cells, composition
from graphrag_bench.files import project_folder
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.session import Session, identity

FOLDER = project_folder("configs") / "experiment"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_a_sweep_whose_first_and_last_cells_are_different_runs(name: str) -> None:
    if name == "tuning":
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    small = ["dataset.size=20", "embedder=hashing"] if name.startswith("world") else TOY
    words = [f"experiment={name}", *small]
    config = composition(words)
    assert config.hydra.mode == RunMode.MULTIRUN
    every = cells(config, words) or [words]  # those of `tuning` its sweeper chooses
    assert len(every) > 1 or name == "tuning"
    ends = [one for _, one in Session().prepared([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (identity(first) == identity(last)) == (len(every) == 1)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_says_what_it_asks_or_which_one_it_belongs_to(name: str) -> None:
    header, first, *rest = (FOLDER / f"{name}.yaml").read_text("utf-8").splitlines()
    assert header == "# @package _global_"
    if first.startswith("# Question: "):
        assert any(line.startswith("# Cost:     ") for line in rest)
    else:
        assert any(f" {other}" in f" {first}" for other in NAMES if other != name), first


def test_what_a_command_says_wins_over_the_file() -> None:
    config = composition(["experiment=pathrag_sizes"])
    assert cells(config, ["method.n_nodes=5,10"]) == [["method.n_nodes=5"], ["method.n_nodes=10"]]
    assert cells(config, ["method.n_nodes=7"]) == [["method.n_nodes=7"]]
