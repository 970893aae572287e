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

from graphrag_bench.cli.settings_words import settings_parser, with_folders
from graphrag_bench.config.compose import PRIMARY, VERSION_BASE, at_home, plain_errors, settings_of
from graphrag_bench.config.sources import Choices, search_in
from graphrag_bench.errors import UserError, caught
from graphrag_bench.experiment.callbacks import CELL, print_results
from graphrag_bench.experiment.execute import RunResult
from graphrag_bench.experiment.session import session
from graphrag_bench.experiment.unused_settings import refuse_unused
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
    runs.swept, runs.overrides[number] = swept, overrides

    def work() -> RunResult:
        cell["settings"] = settings_of(config, own)
        if own.job.chdir:  # results stay where the command was given
            home = Path(own.runtime.cwd, cell["settings"]["paths"]["home"])
            cell["settings"]["paths"]["home"] = str(home)
        experiment = runs.experiment(cell["settings"], swept=swept)
        if not swept:
            if experiment.settings.objective is not None:
                raise UserError("objective names the best cell of a sweep: use it with -m.")
            refuse_unused(overrides, [experiment])
        label = f"cell {number + 1} ({own.job.override_dirname})" if swept else ""
        return runs.run(experiment, swept=swept, label=label.replace("method.", ""))

    result: RunResult | Exception
    try:
        result = caught(work)
    except UserError as error:
        result = error
    value = None
    if isinstance(result, Exception):
        kind = "" if isinstance(result, UserError) else f"{type(result).__name__}: "
        error_text = f"{kind}{result}".encode("utf-8", "backslashreplace").decode("utf-8")
        runs.cells[number] = error_text
        cell |= {"status": "failed", "error": error_text}
        runs.failure = result
        LOG.error(error_text)
        if swept and kind:
            traceback.print_exception(result)
    else:
        runs.cells[number] = result
        results = [runs.results[name] for name in runs.names_of(result.experiment)]
        cell["runs"] = [str(one.folder.path.resolve()) for one in results]
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


def _options_first(words: Sequence[str]) -> list[str]:
    """Return the words as Hydra's parser takes them: overrides after all options."""
    return sorted(words, key=lambda word: word.startswith("~") or "=" in word and word[0] != "-")


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when every question has a row.

    1 when a cell failed, or more questions of a method than `failures.limit` allows, or all.
    """
    if any(word in _HELP for word in arguments):
        parser = settings_parser("run", _ABOUT, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
        parser.rows("options", [("--hydra-help", "Hydra's own options: --cfg, --info, --package")])
        parser.read(["--help"])
    with_folders(arguments)
    session.cache_clear()
    words = _options_first(list(map(at_home, arguments)))
    before, sys.argv = sys.argv, ["graphrag-bench", *words]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come here, and get one message
    try:
        with plain_errors():
            hydra.main(version_base=VERSION_BASE, config_path=None, config_name=PRIMARY)(job)()
    except ValueError as error:
        if str(error) != _NONE:
            raise
        why = next(iter(session().errors.values()), "run.log in their folders says why.")
        stop = UserError(f"Every cell failed: {why}")
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
