"""`graphrag-bench run`: a Hydra application. One run or a sweep, and one table at the end."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from graphrag_bench.cli.settings_words import is_setting, settings_parser
from graphrag_bench.config.compose import PRIMARY, VERSION_BASE, plain_errors, settings_of
from graphrag_bench.config.sources import Choices, search_in
from graphrag_bench.errors import UserError, caught
from graphrag_bench.experiment.callbacks import CELL, print_results
from graphrag_bench.experiment.execute import RunResult
from graphrag_bench.experiment.session import Cell, session
from graphrag_bench.runs.folder import write_whole

FAILED = 1
"""The exit code of a sweep of which some cells failed, and of a run that lacks answers."""
LOG = logging.getLogger("graphrag_bench")
_NONE = "No trials are completed yet."
"""What Optuna ends with when every cell has failed."""
_HELP = ("--help", "-h")

_ABOUT = """
Answers the questions of a data set by a method, scores the answers and the evidence, and prints one
table. Results are stored below HOME/runs: run the same command again to resume. It is a Hydra
application: --cfg, --info, --multirun, --config-dir and key=value, +key, ++key, ~key work as Hydra
documents them (--hydra-help).

examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run experiment=pathrag_sizes dataset=toy answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \\
    llm.model=NAME llm.base_url=ADDRESS

sweeps (-m): cells share what is the same; a failed one is a row that says so, and the same command
retries it
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \\
    split=dev objective=evidence_recall@5     names the best cell, and the command to report it by
  graphrag-bench run experiment=tuning method=hipporag 'method.damping=interval(0.1,0.9)'
                                              Optuna chooses the cells, on split=dev alone

exit code: 0 when every question has a row; 1 when more questions failed than failures.limit allows,
or all of them, or a cell of a sweep; 2 for input that is wrong
"""


def job(config: DictConfig) -> float | None:
    """Do one job of Hydra's, and return what a sweeper looks for: the mean of the objective.

    In a sweep an error ends its cell alone, and there is no value then.
    """
    own = HydraConfig.get()
    for source in own.runtime.config_sources:
        if source.schema == Choices.scheme():  # a worker has not seen the command's own folders
            search_in(source.path.split(os.pathsep))
    folder, swept = Path(own.runtime.output_dir), own.mode == RunMode.MULTIRUN
    number, overrides = int(own.job.num) if swept else 0, list(own.overrides.task)
    cell: dict[str, Any] = {"number": number, "overrides": overrides, "status": "done"}
    runs = session()
    runs.swept = swept

    def work() -> RunResult:
        settings = cell["settings"] = settings_of(config, own)
        if own.job.chdir:  # results stay where the command was given
            settings["paths"]["home"] = str(Path(own.runtime.cwd, settings["paths"]["home"]))
        label = f"cell {number + 1} ({own.job.override_dirname})" if swept else ""
        experiment = runs.experiment(settings, swept=swept)
        return runs.run(experiment, label=label.replace("method.", ""))

    result: RunResult | Exception
    try:
        result = caught(work)
    except UserError as error:
        result = error
    value = None
    if isinstance(result, Exception):
        kind = "" if isinstance(result, UserError) else f"{type(result).__name__}: "
        text = f"{kind}{result}".encode("utf-8", "backslashreplace").decode("utf-8")
        cell |= {"status": "failed", "error": text}
        runs.cells[number], runs.failure = Cell(overrides, error=text), result
        LOG.error(text)
        if swept and kind:
            traceback.print_exception(result)
    else:
        runs.cells[number] = Cell(overrides, result)
        cell["runs"] = [str(one.folder.path.resolve()) for one in runs.of(result)]
        _leave(folder, result.folder.path, own.output_subdir, f"{own.job.name}.log")
        metric = result.metrics["metrics"].get(result.experiment.settings.objective)
        value = None if metric is None else float(metric["mean"])
    write_whole(folder / CELL, json.dumps(cell, default=str) + "\n")
    return value


def _leave(folder: Path, run: Path, subdir: str | None, log: str) -> None:
    """Let the job's folder point to the run, and the run keep what it was composed of."""
    for name in filter(None, (subdir, log)):
        source, copy = folder / name, run / name
        if source.is_dir():
            shutil.copytree(source, copy, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copyfile(source, copy)
    link = folder / f".run.{os.getpid()}"  # another process may be at work on the same folder
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(run.resolve(), folder.resolve()))
    link.replace(folder / "run")


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when every question has a row.

    1 when a cell failed, or more questions of a method than `failures.limit` allows, or all.
    """
    if any(word in _HELP for word in arguments):
        parser = settings_parser("run", _ABOUT, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
        parser.rows("options", [("--hydra-help", "Hydra's own options: --cfg, --info, --package")])
        parser.read(["--help"])
    session.cache_clear()
    options = [word for word in arguments if word.startswith("-") or not is_setting(word)]
    before, sys.argv = sys.argv, ["graphrag-bench", *options, *filter(is_setting, arguments)]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come here, and get one message
    try:
        with plain_errors():
            hydra.main(version_base=VERSION_BASE, config_path=None, config_name=PRIMARY)(job)()
    except ValueError as error:
        if str(error) != _NONE:
            raise
        stop = UserError(f"Every cell failed: {next(iter(session().errors.values()), error)}")
        stop.exit_code = FAILED
        raise stop from None
    finally:
        sys.argv = before
        session().shared.close()
    if "--experimental-rerun" in arguments:
        print_results(session(), Path(HydraConfig.get().runtime.output_dir))
    failure = session().failure
    if failure is not None and not session().swept:
        raise failure
    return FAILED if session().errors or session().lacking() else 0
