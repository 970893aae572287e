"""Every file of configs/experiment is a sweep that runs: its cells compose and can be prepared."""

import pytest
from hydra.types import RunMode
from toy_runs import TOY

from graphrag_bench.config.compose import cells, composition
from graphrag_bench.files import project_folder
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.session import Session, identity

FOLDER = project_folder("configs") / "experiment"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_a_sweep_whose_first_and_last_cells_are_different_runs(name: str) -> None:
    if name == "tuning":
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    small = ["dataset.size=20", "embedder=hashing"] if name.startswith("world") else TOY
    words = [f"experiment={name}", *small]
    config = composition(words)
    assert config.hydra.mode == RunMode.MULTIRUN
    every = cells(config, words) or [words]  # those of `tuning` its sweeper chooses
    ends = [one for _, one in Session().prepared([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (identity(first) == identity(last)) == (name == "tuning")
