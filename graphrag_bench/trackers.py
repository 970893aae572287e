"""Experiment trackers as callbacks of Hydra: `hydra/callbacks=mlflow`, `hydra/callbacks=wandb`.

Each job of a sweep is one run of the tracker. The runs of reference methods are not logged.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from graphrag_bench.errors import extra_needed
from graphrag_bench.report.rendering import markdown
from graphrag_bench.report.tables import interval, run_table, spending
from graphrag_bench.run import sweep
from graphrag_bench.run.folder import TABLE, RunFolder
from graphrag_bench.run.stored import StoredRun, settings_of
from graphrag_bench.view.page import write_page


@dataclass(frozen=True)
class Job:
    """The values that a tracker logs for a job. `error` is "" if the job has finished."""

    name: str
    settings: Mapping[str, Any]
    error: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    @classmethod
    def read(cls, config: DictConfig) -> "Job":
        """Read the results of a job. Without a scored run, the job's overrides are its settings."""
        output = Path(config.hydra.runtime.output_dir)
        cell = sweep.read(output, sweep.Cell)
        error = f"no {sweep.CELL}" if cell is None else cell.error
        if cell is None or not cell.runs:
            words = OmegaConf.select(config, "hydra.overrides.task") or ()
            settings = dict(word.lstrip("+~").partition("=")[::2] for word in words)
            return cls(output.name, settings, error)
        run = StoredRun(RunFolder(Path(cell.runs[0])))
        row, table = run.metrics, output / TABLE
        metrics = {"n": row["n"], "failed": row["failed"], **spending(row)}
        for name in row["metrics"]:
            metrics |= interval(row, name)
        tags = {name: str(row.get(name) or "") for name in ("title", "key", "commit")}
        table.write_text(markdown(run_table([row])), encoding="utf-8")
        return cls(
            f"{row['dataset']} {row['method']} {row['key']}",
            {"dataset": row["dataset"], "method": row["method"], **settings_of(run)}, error,
            {name: float(value) for name, value in metrics.items() if value is not None},
            {**tags, "folder": str(run.folder.path.resolve())},
            (table, write_page([run], output / "page", run.home or output).parent),
        )  # fmt: skip


class MLflow(Callback):
    """Callback that logs jobs to MLflow. Failed jobs get the status FAILED and the tag `error`."""

    def __init__(self, tracking_uri: str, experiment: str) -> None:
        with extra_needed("mlflow"):
            import mlflow  # noqa: F401
        self.tracking_uri, self.experiment = tracking_uri, experiment

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Create the experiment before the jobs start, because parallel jobs could collide."""
        self._opened()

    def on_job_end(self, config: DictConfig, job_return: Any, **kwargs: Any) -> None:
        """Log the job."""
        from mlflow.entities import Metric, Param

        job, now = Job.read(config), int(time.time() * 1000)
        client, experiment = self._opened()
        tags = {**job.tags} | ({"error": job.error} if job.error else {})
        run = client.create_run(experiment, tags=tags, run_name=job.name).info.run_id
        params = [Param(_plain(name), str(value)) for name, value in job.settings.items()]
        metrics = [Metric(_plain(name), value, now, 0) for name, value in job.metrics.items()]
        client.log_batch(run, metrics, params)
        for path in job.files:
            client.log_artifact(run, str(path))
        client.set_terminated(run, "FAILED" if job.error else "FINISHED")

    def _opened(self) -> tuple[Any, str]:
        from mlflow import MlflowClient

        files, address = None, self.tracking_uri
        if address.startswith("sqlite:///"):  # otherwise MLflow uses the working directory
            folder = Path(address.removeprefix("sqlite:///")).resolve().parent
            folder.mkdir(parents=True, exist_ok=True)
            files = (folder / "artifacts").as_uri()
        client = MlflowClient(address)
        if known := client.get_experiment_by_name(self.experiment):
            return client, known.experiment_id
        return client, client.create_experiment(self.experiment, artifact_location=files)


class WandB(Callback):
    """Callback that logs jobs to Weights & Biases. The run of a failed job has exit code 1."""

    def __init__(self, project: str, mode: str, folder: str = ".") -> None:
        with extra_needed("wandb"):
            import wandb  # noqa: F401
        self.project, self.mode, self.folder = project, mode, folder

    def on_job_end(self, config: DictConfig, job_return: Any, **kwargs: Any) -> None:
        """Log the job."""
        import wandb

        job = Job.read(config)
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        run = wandb.init(
            project=self.project, mode=self.mode, dir=self.folder, name=job.name, notes=job.error,
            config={**job.settings, **job.tags}, reinit="create_new",
        )  # fmt: skip
        run.summary.update(dict(job.metrics))
        for path in job.files:
            for file in filter(Path.is_file, [path, *path.rglob("*")]):
                run.save(str(file), base_path=str(path.parent), policy="now")
        run.finish(exit_code=1 if job.error else 0)


def _plain(name: str) -> str:
    return re.sub(r"[^\w./ -]", "_", name.replace("@", "_at_"))
