"""Jobs of Hydra in experiment trackers, read back from MLflow's local store."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf
from toy_runs import TOY, metrics, run_folder

from graphrag_bench import trackers
from graphrag_bench.errors import UserError
from graphrag_bench.run.sweep import Cell, write
from graphrag_bench.trackers import MLflow, WandB

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parents[1] / "configs" / "hydra" / "callbacks"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of BM25 on toy that retrieved."""
    monkeypatch.chdir(tmp_path)
    folder = run_folder(*TOY, "method=bm25", "answer=off", "reference_rows=off", "seed=7")
    return folder


def job(folder: Path, **cell: Any) -> DictConfig:
    """The configuration of a Hydra job that left a cell with these fields, or none without any."""
    output = folder / "jobs" / "3"
    output.mkdir(parents=True)
    if cell:
        write(output, Cell("", 0, (), "", "", **cell))
    runtime = {"output_dir": str(output), "cwd": str(folder)}
    words = {"task": ["method=bm25", "+method.top_k=4"]}
    return OmegaConf.create({
        "paths": {"home": str(folder)}, "hydra": {"runtime": runtime, "overrides": words},
    })  # fmt: skip


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of files, which opens a hundred times faster than one of SQLite."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    import_module("mlflow")  # takes its seconds once, outside of the tests
    return (tmp_path / "mlruns").as_uri()


def logged(store: str, config: DictConfig) -> tuple[Any, Any]:
    """A client and the one run of the tracker that a job became."""
    from mlflow import MlflowClient

    tracker = MLflow(store, "toys")
    tracker.on_multirun_start(config)
    tracker.on_job_end(config, job_return=None)
    client = MlflowClient(store)
    (entry,) = client.search_runs([client.get_experiment_by_name("toys").experiment_id])
    return client, entry


def test_a_job_is_a_run_of_mlflow(run: Path, store: str, tmp_path: Path) -> None:
    runs = (str(run), str(run.parent / "reference"))
    client, entry = logged(store, job(tmp_path, status="done", runs=runs))
    assert entry.info.status == "FINISHED"
    params, stored = entry.data.params, metrics(run)["metrics"]
    assert (params["dataset"], params["method"], params["seed"]) == ("toy", "bm25", "7")
    assert (params["method.top_k"], params["method.retrieve.0.op"]) == ("4", "chunk.bm25")
    recall = stored["evidence_recall@2"]
    for name, what in (("", "mean"), ("_low", "low"), ("_high", "high")):
        assert entry.data.metrics[f"evidence_recall_at_2{name}"] == recall[what]
    assert [entry.data.metrics[name] for name in ("n", "failed", "calls")] == [6, 0, 0]
    assert entry.data.tags["key"] == run.name
    assert {one.path for one in client.list_artifacts(entry.info.run_id)} == {"table.md", "page"}
    pages = {one.path for one in client.list_artifacts(entry.info.run_id, "page")}
    assert "page/index.html" in pages


@pytest.mark.parametrize(
    ("cell", "error"), [({"error": "x" * 9000}, "x" * 5000), ({}, "no cell.json")]
)
def test_a_failed_job_is_a_failed_run_with_its_error(
    tmp_path: Path, store: str, cell: dict[str, Any], error: str
) -> None:
    _, entry = logged(store, job(tmp_path, **cell))
    assert (entry.info.status, entry.data.tags["error"]) == ("FAILED", error)
    assert entry.data.params == {"method": "bm25", "method.top_k": "4"}


class Service(ModuleType):
    """A wandb that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.fields: dict[str, Any] = {}
        self.summary: dict[str, float] = {}
        self.saved: list[str] = []
        self.code = -1

    def init(self, **fields: Any) -> "Service":
        self.fields = fields
        return self

    def save(self, path: str, base_path: str, policy: str) -> None:
        self.saved.append(Path(path).relative_to(base_path).as_posix())

    def finish(self, exit_code: int) -> None:
        self.code = exit_code


def test_a_job_is_a_run_of_wandb(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service()
    monkeypatch.setitem(sys.modules, "wandb", service)
    monkeypatch.setattr(trackers, "find_spec", lambda package: package)
    config = job(tmp_path, error="one of six", runs=(str(run),))
    WandB("toys", "offline", str(tmp_path)).on_job_end(config, job_return=None)
    assert (service.fields["config"]["method.top_k"], service.fields["notes"]) == (4, "one of six")
    assert service.summary["n"] == 6
    assert {"table.md", "page/index.html"} <= set(service.saved)
    assert service.code == 1


def test_the_choices_of_hydra_make_the_trackers_of_packages_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UserError, match="mlflow"):
        monkeypatch.setattr(trackers, "find_spec", lambda package: None)
        MLflow("a", "b")
    monkeypatch.setattr(trackers, "find_spec", lambda package: package)
    for paths, folder in (({}, "."), ({"paths": {"home": "/away"}}, "/away")):
        for name, place in (("mlflow", f"sqlite:///{folder}/mlruns/mlflow.db"), ("wandb", folder)):
            choice = OmegaConf.load(CONFIGS / f"{name}.yaml")
            config = OmegaConf.create({"hydra": {"callbacks": choice}, **paths})
            tracker = hydra.utils.instantiate(config.hydra.callbacks[name])
            assert place in vars(tracker).values()
