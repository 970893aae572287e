"""Jobs of Hydra in experiment trackers."""

import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf
from toy_runs import TOY, metrics, run_folder

from graphrag_bench.errors import UserError
from graphrag_bench.run.sweep import Cell, write
from graphrag_bench.trackers import MLflow, WandB

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parents[1] / "configs" / "hydra" / "callbacks"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a run of BM25 on toy with answer=off."""
    monkeypatch.chdir(tmp_path)
    return run_folder(*TOY, "method=bm25", "answer=off", "reference_rows=off", "seed=7")


def job(folder: Path, **cell: Any) -> DictConfig:
    """Return the configuration of a Hydra job whose cell has these fields."""
    output = folder / "jobs" / "3"
    output.mkdir(parents=True)
    write(output, Cell("", 0, (), "", "", **cell))
    runtime = {"output_dir": str(output), "cwd": str(folder)}
    words = {"task": ["method=bm25", "+method.top_k=4"]}
    return OmegaConf.create({
        "paths": {"home": str(folder)}, "hydra": {"runtime": runtime, "overrides": words},
    })  # fmt: skip


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow MLflow's file store, which opens a hundred times faster than SQLite."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def logged(folder: Path, config: DictConfig) -> tuple[Any, Any]:
    """Log a job; return the client and the tracker's only run."""
    from mlflow import MlflowClient

    store = (folder / "mlruns").as_uri()
    tracker = MLflow(store, "toys")
    tracker.on_multirun_start(config)
    tracker.on_job_end(config, job_return=None)
    client = MlflowClient(store)
    (entry,) = client.search_runs([client.get_experiment_by_name("toys").experiment_id])
    return client, entry


def test_mlflow_logs_a_job(run: Path, tmp_path: Path) -> None:
    runs = (str(run), str(run.parent / "reference"))
    client, entry = logged(tmp_path, job(tmp_path, status="done", runs=runs))
    assert entry.info.status == "FINISHED"
    params = entry.data.params
    assert (params["method"], params["method.top_k"], params["seed"]) == ("bm25", "4", "7")
    recall = metrics(run)["metrics"]["evidence_recall@2"]
    assert entry.data.metrics["evidence_recall_at_2_low"] == recall["low"]
    assert [entry.data.metrics[name] for name in ("n", "failed", "calls")] == [6, 0, 0]
    assert entry.data.tags["key"] == run.name
    assert {one.path for one in client.list_artifacts(entry.info.run_id)} == {"table.md", "page"}


def test_mlflow_logs_a_failed_job_with_its_error(tmp_path: Path) -> None:
    _, entry = logged(tmp_path, job(tmp_path, error="x" * 9000))
    assert (entry.info.status, entry.data.tags["error"]) == ("FAILED", "x" * 9000)
    assert entry.data.params == {"method": "bm25", "method.top_k": "4"}


def test_wandb_logs_a_job(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = MagicMock()
    monkeypatch.setitem(sys.modules, "wandb", service)
    config = job(tmp_path, error="one of six", runs=(str(run),))
    WandB("toys", "offline", str(tmp_path)).on_job_end(config, job_return=None)
    fields, sent = service.init.call_args.kwargs, service.init.return_value
    assert (fields["config"]["method.top_k"], fields["notes"]) == (4, "one of six")
    assert sent.summary.update.call_args.args[0]["n"] == 6
    files = {Path(call.args[0]).name for call in sent.save.call_args_list}
    assert {"table.md", "index.html"} <= files
    sent.finish.assert_called_once_with(exit_code=1)


def test_tracker_needs_its_package_and_stores_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(UserError, match=r"graphrag-bench\[mlflow\]"):
        MLflow("a", "b")
    for name in ("mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    for name, place in (("mlflow", "sqlite:////away/mlruns/mlflow.db"), ("wandb", "/away")):
        choice = OmegaConf.load(CONFIGS / f"{name}.yaml")
        config = OmegaConf.create({"hydra": {"callbacks": choice}, "paths": {"home": "/away"}})
        tracker = hydra.utils.instantiate(config.hydra.callbacks[name])
        assert place in vars(tracker).values()
