"""Jobs of Hydra in experiment trackers."""

import sys
from pathlib import Path
from unittest.mock import MagicMock

import hydra
import pytest
from omegaconf import OmegaConf
from toy_runs import TOY, metrics, run_folder

from graphrag_bench.errors import UserError
from graphrag_bench.run.sweep import Cell, write
from graphrag_bench.trackers import MLflow, WandB

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parents[1] / "configs" / "hydra" / "callbacks"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = f"paths.home={tmp_path_factory.mktemp('home')}"
    return run_folder(*TOY, "method=bm25", "answer=off", "reference_rows=off", "seed=7", home)


def job(folder, **cell):
    output = folder / "jobs" / "3"
    output.mkdir(parents=True)
    write(output, Cell("", 0, (), "", "", **cell))
    runtime = {"output_dir": str(output), "cwd": str(folder)}
    words = {"task": ["method=bm25", "+method.top_k=4"]}
    hydra = {"runtime": runtime, "overrides": words}
    return OmegaConf.create({"paths": {"home": str(folder)}, "hydra": hydra})


def test_mlflow_logs_a_job_and_a_failed_job_with_its_error(run, tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # opens much faster than SQLite
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    store = (tmp_path / "mlruns").as_uri()
    tracker, client = MLflow(store, "toys"), MlflowClient(store)
    runs = (str(run), str(run.parent / "reference"))
    good = job(tmp_path / "good", status="done", runs=runs)
    tracker.on_multirun_start(good)
    for config in (good, job(tmp_path / "bad", error="x" * 9000)):
        tracker.on_job_end(config, job_return=None)
    entries = client.search_runs([client.get_experiment_by_name("toys").experiment_id])
    failed, done = sorted(entries, key=lambda one: one.info.status)
    params = done.data.params
    assert (params["method"], params["method.top_k"], params["seed"]) == ("bm25", "4", "7")
    recall = metrics(run)["metrics"]["evidence_recall@2"]
    assert done.data.metrics["evidence_recall_at_2_low"] == recall["low"]
    assert [done.data.metrics[name] for name in ("n", "failed", "calls")] == [6, 0, 0]
    assert (done.info.status, done.data.tags["key"]) == ("FINISHED", run.name)
    assert {one.path for one in client.list_artifacts(done.info.run_id)} == {"table.md", "page"}
    assert (failed.info.status, failed.data.tags["error"]) == ("FAILED", "x" * 9000)
    assert failed.data.params == {"method": "bm25", "method.top_k": "4"}


def test_wandb_logs_a_job(run, tmp_path, monkeypatch):
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


def test_tracker_needs_its_package_and_stores_in_the_home(monkeypatch):
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
