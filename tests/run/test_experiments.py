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
CELLS = {
    "context_budgets": 6, "edge_sparsity": 18, "edge_sparsity_evidence": 78,
    "pankrag_alpha": 6, "pankrag_alpha_abstract": 6, "pankrag_parts": 2,
    "pankrag_parts_rerank": 2, "pathcorag_paths": 2, "pathcorag_sizes": 5,
    "pathcorag_sizes_k": 5, "pathcorag_sizes_top_k": 5, "pathcorag_steps": 12,
    "pathrag_flat": 2, "pathrag_flat_seeds": 9, "pathrag_flow": 5, "pathrag_flow_direction": 6,
    "pathrag_flow_profile": 3, "pathrag_flow_theta": 6, "pathrag_order": 3,
    "pathrag_order_random": 10, "pathrag_order_random_paths": 10,
    "pathrag_order_short_paths": 10, "pathrag_sizes": 6, "pathrag_sizes_lt": 2,
    "pathrag_sizes_top_k": 6, "pooling_off": 2, "pooling_order": 6, "pooling_search": 6,
    "pooling_sizes": 5, "pooling_sizes_coarse": 5, "pooling_sizes_reselect": 4,
    "pooling_type": 4, "pooling_type_a": 10, "pooling_type_sources": 4, "retrieval_only": 3,
    "tuning": 1, "world_noise": 12, "world_noise_aliases": 12, "world_noise_extraction": 12,
    "world_noise_removed": 12,
}  # fmt: skip


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
    assert len(every) == CELLS[name]
    ends = [one for _, one in Session().prepared([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (identity(first) == identity(last)) == (len(every) == 1)


def test_what_a_command_says_wins_over_the_file() -> None:
    config = composition(["experiment=pathrag_sizes"])
    assert cells(config, ["method.n_nodes=5,10"]) == [["method.n_nodes=5"], ["method.n_nodes=10"]]
    assert cells(config, ["method.n_nodes=7"]) == [["method.n_nodes=7"]]
