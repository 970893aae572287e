r"""Answers the questions of a data set by a method, scores them, and prints one table.

Scored are the answers and the evidence. Results are stored below HOME/runs: run the same command
again to resume. It is a Hydra application: --cfg, --info, --multirun, --config-dir and key=value,
+key, ++key, ~key work as Hydra documents them (--hydra-help).

examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run experiment=pathrag_sizes dataset=toy answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \
    llm.model=NAME llm.base_url=ADDRESS

sweeps (-m): cells share what is the same; a failed one is a row that says so, and the same command
retries it
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \
    split=dev objective=evidence_recall@5     names the best cell, and the command to report it by
  graphrag-bench run experiment=tuning method=hipporag 'method.damping=interval(0.1,0.9)'
                                              Optuna chooses the cells, on split=dev alone

exit code: 0 when every question has a row; 1 when more questions failed than failures.limit allows,
or all of them, or a cell of a sweep; 2 for input that is wrong
"""

import json
import logging
import math
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from graphrag_bench.cli.parsing import Parser, is_setting, show_settings
from graphrag_bench.config.compose import (
    PRIMARY,
    VERSION_BASE,
    cells,
    composition,
    parsed,
    plain_errors,
    settings_of,
)
from graphrag_bench.config.sources import papers
from graphrag_bench.errors import MissingPackage, UserError, caught
from graphrag_bench.report.comparisons import comparison_table
from graphrag_bench.report.rendering import FORMATS, Table, show
from graphrag_bench.report.tables import run_table
from graphrag_bench.run.execute import RunResult
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import TABLE, write_whole
from graphrag_bench.run.session import (
    Cell,
    Outcomes,
    differences,
    refuse_unused,
    result_tables,
    session,
)

CELL = "cell.json"
"""The file of a job's folder that says what became of it: its status, error and run folders."""


def declare(parser: Parser) -> None:
    """Show what a run takes; Hydra reads it."""
    show_settings(parser, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
    parser.rows("options", [("--hydra-help", "Hydra's own options: --cfg, --info, --package")])


def run(arguments: Sequence[str], planned: Callable[[Outcomes], None] | None = None) -> int:
    """Run, or give what would be run to `planned`; 0 when every question has a row.

    1 when a cell failed, or more questions of a method than `failures.limit` allows, or all.
    """
    session.cache_clear()
    session().planned = planned
    words = sorted(_of_cells(arguments), key=is_setting)
    before, sys.argv = sys.argv, ["graphrag-bench", *words]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come here, and get one message
    try:
        with plain_errors():
            hydra.main(version_base=VERSION_BASE, config_path=None, config_name=PRIMARY)(job)()
    finally:
        sys.argv = before
        session().shared.close()
    runs = session()
    if "--experimental-rerun" in arguments:
        _print_results(Path(HydraConfig.get().runtime.output_dir), CELL)
    elif runs.failure and not runs.cells:
        raise runs.failure
    return int(bool(runs.lacking()) or any(one.error for one in runs.cells))


_VARIED = re.compile(r"[,*]|range\(")


def _of_cells(arguments: Sequence[str]) -> list[str]:
    """Return the words of a command; in a sweep over methods, their settings are of the cells.

    Hydra first composes what all cells share, in which `method.alpha=0.8` would be one of the
    default method. `choice(0.8)` is read as a sweep over one value, so that each cell composes it.
    It cannot hold null, which is added to what is shared; the check of a cell refuses it.
    """
    words = list(arguments)
    own = [i for i, word in enumerate(words) if re.match(r"method\.[^=]+=.", word)]
    chosen = [word for word in words if re.match("(method|row|experiment)=", word)]
    fixed = any(not word.startswith("exp") and not _VARIED.search(word) for word in chosen)
    if not own or not chosen or fixed:
        return words
    swept = {"-m", "--multirun", "hydra.mode=MULTIRUN"} & set(words)
    if not swept and composition(chosen).hydra.mode != RunMode.MULTIRUN:
        return words
    for i, override in zip(own, parsed([words[i] for i in own]), strict=True):
        if not override.is_sweep_override():
            name, _, value = words[i].partition("=")
            words[i] = f"{name}=choice({value})" if value != "null" else f"++{words[i]}"
    return words


def job(config: DictConfig) -> float | None:
    """Do one job of Hydra's, and return what a sweeper looks for: the mean of the objective.

    In a sweep an error ends its cell alone, which is the worst then.
    """
    own, runs = HydraConfig.get(), session()
    swept = own.mode == RunMode.MULTIRUN
    folder = Path(own.runtime.output_dir)
    number, overrides = int(own.job.num) if swept else 0, list(own.overrides.task)
    cell: dict[str, Any] = {"number": number, "overrides": overrides, "swept": swept}

    def work() -> RunResult:
        settings = cell["settings"] = settings_of(config, own)
        if own.job.chdir:  # results stay where the command was given
            settings["paths"]["home"] = str(Path(own.runtime.cwd, settings["paths"]["home"]))
        experiment = runs.experiment(settings, swept=swept)
        varied = ",".join(_varied(overrides)).replace("method.", "")
        return runs.run(experiment, label=f"cell {number + 1} ({varied})" * swept)

    result: RunResult | Exception
    try:
        result = caught(work)
    except UserError as error:
        result = error
    if isinstance(result, Exception):
        kind = "" if isinstance(result, UserError) else f"{type(result).__name__}: "
        text = f"{kind}{result}".encode("utf-8", "backslashreplace").decode("utf-8")
        cell |= {"status": "failed", "error": text}
        runs.failure = result
        logging.getLogger("graphrag_bench").error(text)
        if swept and kind:
            traceback.print_exception(result)
        value = -math.inf
    else:
        cell |= {"status": "done", "runs": [str(o.folder.path.resolve()) for o in runs.of(result)]}
        _link(folder, result.folder.path, own.output_subdir, f"{own.job.name}.log")
        metric = result.metrics["metrics"].get(result.experiment.settings.objective)
        value = metric and float(metric["mean"])
    write_whole(folder / CELL, json.dumps(cell, default=str) + "\n")
    return value


def _varied(overrides: Sequence[str]) -> list[str]:
    """The overrides of a cell that the command does not give with one value."""
    fixed = {one.partition("=")[0] for one in sys.argv if not _VARIED.search(one)}
    return [one for one in overrides if one.partition("=")[0] not in fixed]


def _link(folder: Path, run: Path, subdir: str | None, log: str) -> None:
    if subdir is not None:
        shutil.copytree(folder / subdir, run / subdir, dirs_exist_ok=True)
    if (folder / log).is_file():
        shutil.copyfile(folder / log, run / log)
    link = folder / f".run.{os.getpid()}"  # another process may be at work on the same folder
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(run.resolve(), folder.resolve()))
    link.replace(folder / "run")


class Results(Callback):
    """Check what a command asks for before its first job, and print one table after its last.

    The folder of the command gets `table.md` and `table.csv`. A failed cell of a sweep is a row
    that says so.
    """

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a run that is wrong before Hydra writes down what may hold a secret."""
        _or_exit(lambda: _check(config, [list(config.hydra.overrides.task)], swept=False))

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a sweep in which every cell is wrong, or which sets what none of them reads.

        Or one with a cell that Hydra cannot compose, at which it would end, or that needs a package
        which is not installed.
        """
        _or_exit(lambda: _check(config, cells(config, config.hydra.overrides.task), swept=True))
        for file in Path(config.hydra.sweep.dir).rglob(CELL):  # of an earlier command
            file.unlink()

    def on_run_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a run."""
        if session().failure is None:
            _print_results(Path(config.hydra.run.dir), CELL)

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a sweep, whose cells other processes may have run."""
        folder = Path(config.hydra.sweep.dir)
        _or_exit(lambda: _print_results(folder, f"**/{CELL}"))
        print(f"sweep: {folder.resolve()}")
        for word in config.hydra.overrides.task:
            table = word.removeprefix("experiment=")
            if table != word and "/" in table and papers().content("experiment", table):
                print(f"next: graphrag-bench table {table}")


def _or_exit(work: Callable[[], object]) -> None:
    """Do what may refuse: an exception of a callback would only be a warning of Hydra's."""
    try:
        work()
    except UserError as error:
        sys.stderr.write(f"graphrag-bench run: {error}\n")
        raise SystemExit(error.exit_code) from None


def _check(config: DictConfig, every: list[list[str]] | None, *, swept: bool) -> None:
    """Check cells; those that the sweeper chooses itself (None) by what they have in common."""
    runs, objective = session(), config.get("objective")
    if every is None and objective is None:
        raise UserError(
            "This sweeper needs objective=METRIC and split=dev, as in experiment=tuning."
        )
    if objective is not None and not swept:
        raise UserError("objective names the best cell of a sweep: use it with -m.")
    if every is None or not swept:
        settings = settings_of(config, config.hydra)
        outcomes: Outcomes = [((), runs.experiment(settings, swept=swept))]
    else:
        outcomes = list(runs.prepared(every, config.hydra.job.config_name))
    if runs.planned:
        runs.planned(outcomes)
    elif missing := next((one for _, one in outcomes if isinstance(one, MissingPackage)), None):
        raise missing
    experiments = [one for _, one in outcomes if isinstance(one, Experiment)]
    if not experiments:
        errors = dict.fromkeys(str(error) for _, error in outcomes)
        raise UserError("\n".join(list(errors)[:3]))
    if every and len(experiments) == len(outcomes):
        refuse_unused([word for cell in every for word in cell], experiments)
    if runs.planned:
        raise SystemExit(len(experiments) < len(outcomes))


def _print_results(folder: Path, pattern: str) -> None:
    runs = session()
    runs.end(json.loads(file.read_text("utf-8")) for file in folder.glob(pattern))
    lines, results, failed = runs.best(), runs.shown(), _failed(runs.cells)
    shown = whole = [Table("", ("method", "result"), (), (), ("method", "result"))]
    if results:
        compared = differences(results)
        shown = result_tables(results, compared, results[0].experiment.settings.columns)
        whole = [run_table([result.metrics for result in results])]
        whole += filter(None, [comparison_table(compared)] if compared else [])
    for table in shown:
        show(_with_rows(table, failed) if table.heads[:1] == ("method",) else table)
    whole[0] = _with_rows(whole[0], failed)
    text = "\n".join(map(FORMATS["markdown"], whole))
    write_whole(folder / TABLE, text)
    write_whole(folder / "table.csv", FORMATS["csv"](whole[0]))
    for path in dict.fromkeys(result.folder.path for result in results):
        write_whole(path / TABLE, text)
        print(f"run: {path.resolve()}")
    for line in lines:
        print(line)
    problems = runs.lacking()
    problems += [f"cell {one.number} failed: {one.error}" for one in runs.cells if one.error]
    if failed:
        problems.append(f"{len(failed)} failed; the same command runs those again")
    sys.stderr.writelines(f"{line}\n" for line in problems)


def _failed(cells: Sequence[Cell]) -> dict[str, str]:
    """Return the errors of cells that failed, by the overrides that other cells do not have."""
    common = set.intersection(*(set(cell.overrides) for cell in cells))
    return {
        " ".join(one for one in cell.overrides if one not in common)
        or f"cell {cell.number}": " ".join(cell.error.split())
        for cell in cells
        if cell.error
    }


def _with_rows(table: Table, failed: Mapping[str, str]) -> Table:
    rows = tuple((name, "failed", *[""] * (len(table.heads) - 2)) for name in failed)
    notes = tuple(f"{name} failed: {error}" for name, error in failed.items())
    return replace(table, rows=(*table.rows, *rows), notes=(*notes, *table.notes))
