r"""Run methods on a data set, score answers and evidence, and print a table.

Results are stored in HOME/runs. Repeat the command to resume a run. Options and overrides are those
of Hydra (--hydra-help). A sweep (-m) runs every combination of the given values. Each combination
is a cell. Cells share artifacts and replies. A failed cell has a row in the table, and is retried
if the command is repeated.

examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run experiment=pathrag_sizes dataset=toy answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \
    llm.model=NAME llm.base_url=ADDRESS

tune a setting on split=dev, and print the command that evaluates it on split=test
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \
    split=dev objective=evidence_recall@5
  graphrag-bench run experiment=tuning method=hipporag 'method.damping=interval(0.1,0.9)'

exit code: 0 if every question was run; 1 if all questions of a run failed, if more questions
failed than failures.limit allows, or if a cell of a sweep failed; 2 for wrong input
"""

import logging
import math
import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from graphrag_bench import errors
from graphrag_bench.cli.parsing import Parser, add_settings_help, is_setting
from graphrag_bench.config import compose
from graphrag_bench.config.settings import described_settings
from graphrag_bench.config.words import quote
from graphrag_bench.errors import MissingPackage, UserError, unknown
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import FORMATS, show
from graphrag_bench.report.rows import best_run, selection_mark
from graphrag_bench.run import sweep as sweeps
from graphrag_bench.run.command import Command, Outcomes, methods_of, refuse_unused, run_problem
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import SELECTED, TABLE, write_whole
from graphrag_bench.run.models import process_cache
from graphrag_bench.run.scoring import Datasets
from graphrag_bench.run.stored import EXTENT, StoredRun
from graphrag_bench.run.sweep import Cell, Sweep
from graphrag_bench.text import counted

T = TypeVar("T")
_OPTIONS = ("--help", "--hydra-help", "--version", "--cfg", "--resolve", "--package", "--run",
            "--multirun", "--config-path", "--config-name", "--config-dir", "--info",
            "--experimental-rerun", "--shell-completion")  # fmt: skip
CALLBACK = "hydra.callbacks.results"


def declare(parser: Parser) -> None:
    """Add the groups and settings of a run to the help. They are parsed by Hydra."""
    add_settings_help(parser, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
    options = "list the options of Hydra: --cfg, --info, --package"
    parser.add_section("options", [("--hydra-help", options)])


def run(arguments: Sequence[str], *callback: str) -> int:
    """Run the Hydra application. The overrides in `callback` replace the callback `Results`."""
    for name in (word.partition("=")[0] for word in arguments if word.startswith("--")):
        if name not in _OPTIONS:
            own = [f"{one}=" for one, *_ in described_settings()] + ["--json"] * bool(callback)
            raise unknown("option", name, [*_OPTIONS, *own])
    with compose.plain_errors():
        words = [quote(word) for word in sorted(arguments, key=is_setting)]
    words = [*_with_cell_settings(words), *callback]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra raises errors, and does not print them
    application = hydra.main(None, compose.PRIMARY, compose.VERSION_BASE)
    before, sys.argv = sys.argv, ["graphrag-bench", *words]  # the application reads sys.argv
    try:
        with compose.plain_errors():
            application(HydraJob())()
        if "--experimental-rerun" in arguments:
            return print_table(Path(HydraConfig.get().runtime.output_dir), {})
    finally:
        sys.argv = before
        process_cache().close()
    return 0


def _with_cell_settings(words: list[str]) -> list[str]:
    """Move parameters of methods into the cells of a sweep over methods.

    Hydra composes shared settings with the default method, which may not have `method.alpha`.
    Therefore `method.alpha=0.8` becomes `method.alpha=choice(0.8)`, which is composed in each cell.
    A null cannot be a choice. It remains a shared setting, and the check of the cells rejects it.
    """
    chosen = [word for word in words if re.match("(method|row|experiment)=", word)]
    own = [i for i, word in enumerate(words) if re.match(r"method\.[^=]+=.", word)]
    varied = [word for word in words if is_setting(word) and re.search(r"[,*(]", word)]
    parsed = compose.parse_overrides(varied)
    several = [str(one.input_line) for one in parsed if one.is_sweep_override()]
    fixed = any(not word.startswith("exp") and word not in several for word in chosen)
    in_cells = bool(own and chosen and not fixed)
    if not (several or in_cells):
        return words
    if not {"-m", "--multirun", "hydra.mode=MULTIRUN"} & set(words):
        mode = compose.composition([word for word in chosen if word not in several]).hydra.mode
        in_cells &= mode == RunMode.MULTIRUN
        if several and mode != RunMode.MULTIRUN:
            raise compose.multiple_values_error(several[0])
    for i in own if in_cells else ():
        (override,) = compose.parse_overrides([words[i]])
        if not override.is_sweep_override():
            name, _, value = words[i].partition("=")
            words[i] = f"{name}=choice({value})" if value != "null" else f"++{words[i]}"
    return words


def _outcome(work: Callable[[], T]) -> T | Exception:
    """Return the result of `work` or its exception. Print the traceback of an unexpected error."""
    try:
        result = errors.result_or_error(work)
    except UserError as error:
        return error
    if isinstance(result, Exception) and not isinstance(result, OSError):
        traceback.print_exception(result)
    return result


@dataclass
class HydraJob:
    """The function that Hydra calls for each job, which is a single run or a cell of a sweep."""

    command: Command = field(default_factory=Command)

    def __call__(self, config: DictConfig) -> float:
        """Run one job and return its mean of the metric `objective`, or -inf after an error."""
        own = HydraConfig.get()
        swept = own.mode == RunMode.MULTIRUN
        place = Path(own.runtime.cwd, own.sweep.dir)
        sweep = (sweeps.read(place, Sweep) if swept else None) or Sweep()
        folder, words = Path(own.runtime.output_dir), tuple(own.overrides.task)
        title = OmegaConf.select(config, "method.title") or OmegaConf.select(config, "method.name")
        number = int(own.job.num) if swept else 0
        cell = Cell(sweep.command, number, words, str(title), sweep.words(words))
        result = _outcome(lambda: self._run_cell(config, cell, sweep, place if swept else None))
        log = logging.getLogger("graphrag_bench")
        if isinstance(result, Exception):
            text = errors.message_of(result).encode("utf-8", "backslashreplace").decode("utf-8")
            sweeps.write(folder, replace(cell, error=text, exit_code=errors.exit_code_of(result)))
            known = isinstance(result, UserError | OSError)
            log.error(text if known else "".join(traceback.format_exception(result)))
            return -math.inf
        cell, stored = result
        failures = stored.folder.file("failures", "txt")
        for line in cell.problems:
            log.error(line)
        if cell.problems and failures.is_file():
            log.error(failures.read_text("utf-8"))
        _link(folder, stored.folder.path, own.output_subdir, f"{own.job.name}.log")
        sweeps.write(folder, cell)
        metric = stored.metrics["metrics"].get(config.get("objective"))
        return float(metric["mean"]) if metric and not cell.error else -math.inf

    def _run_cell(
        self, config: DictConfig, cell: Cell, sweep: Sweep, place: Path | None
    ) -> tuple[Cell, StoredRun]:
        """Run a cell and its reference methods. A cell fails if all its questions fail."""
        own = HydraConfig.get()
        settings = compose.settings_of(config, own)
        if own.job.chdir:  # keep results in the original folder
            settings["paths"]["home"] = str(Path(own.runtime.cwd, settings["paths"]["home"]))
        experiment = self.command.experiment(settings, swept=place is not None)
        progress = Progress(part=sweep.position(cell) if place else "")
        if place:
            seconds = sweep.seconds_left(place)
            left = "" if seconds is None else f", {seconds:.0f} s left"
            progress.say(f"{progress.part}{left}")
        every = [experiment, *self.command.reference_experiments(experiment, sweep.methods)]
        for one in every:
            self.command.run(one, progress if one is experiment else None)
        extent = experiment.settings.model_dump(mode="json", include=EXTENT)
        runs = [StoredRun(one.folder, one.dataset, extent) for one in every]
        problems = [run_problem(run.metrics, one) for run, one in zip(runs, every, strict=True)]
        lost = runs[0].metrics["failed"] == runs[0].metrics["n"]
        folders = tuple(str(run.folder.path.resolve()) for run in runs)
        status, error = ("failed", problems[0]) if lost else ("done", "")
        cell = replace(cell, status=status, error=error, runs=folders, extent=extent)
        return replace(cell, problems=tuple(filter(None, problems))), runs[0]


def _link(folder: Path, run: Path, subdir: str | None, log: str) -> None:
    """Copy Hydra's files to the folder of the run, and link this folder in Hydra's job folder."""
    if subdir is not None:
        shutil.copytree(folder / subdir, run / subdir, dirs_exist_ok=True)
    if (folder / log).is_file():
        shutil.copyfile(folder / log, run / log)
    link = folder / "run"
    if link.is_symlink() or not link.exists():
        new = folder / f".run.{os.getpid()}"  # another process may use the folder
        new.unlink(missing_ok=True)
        new.symlink_to(os.path.relpath(run.resolve(), folder.resolve()))
        new.replace(link)


def _or_exit(work: Callable[["Results", DictConfig], int]) -> Callable[..., None]:
    """Exit if a callback fails, because Hydra turns its exception into a warning."""

    def callback(self: "Results", config: DictConfig, **_: Any) -> None:
        code = _outcome(lambda: work(self, config))
        if isinstance(code, BrokenPipeError):  # e.g. `head` closed the pipe
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            raise SystemExit(0)
        if isinstance(code, Exception):
            sys.stderr.write(f"graphrag-bench {self.name}: {errors.message_of(code)}\n")
            code = errors.exit_code_of(code)
        if code:
            raise SystemExit(code)

    return callback


class Results(Callback):
    """Hydra callback that checks all cells before the first job and prints a table at the end."""

    name = "run"
    """Name of the command in error messages."""

    def __init__(self) -> None:
        self.command = Command()

    def on_job_start(self, config: DictConfig, *, task_function: Any, **_: Any) -> None:
        """Give the prepared experiments to a job."""
        task_function.command = self.command

    def plan(self, outcomes: Outcomes) -> int | None:
        """Return the exit code if the command only prints plans, or None if it runs the cells."""
        return None

    @_or_exit
    def on_run_end(self, config: DictConfig) -> int:
        """Print the table of a single run."""
        return print_table(Path(config.hydra.run.dir), self.command.shared.datasets)

    @_or_exit
    def on_multirun_end(self, config: DictConfig) -> int:
        """Print the table of a sweep, including cells that other processes ran."""
        return print_table(Path(config.hydra.sweep.dir), self.command.shared.datasets)

    @_or_exit
    def on_run_start(self, config: DictConfig) -> int:
        """Check a single run before Hydra writes its settings, which may contain a secret."""
        if config.get("objective") is not None:
            raise UserError("objective= selects the best cell of a sweep. Add -m to run a sweep.")
        settings = compose.settings_of(config, config.hydra)
        experiment = self.command.experiment(settings, swept=False)
        self._check([((), experiment)], list(config.hydra.overrides.task))
        sweeps.refuse_overwriting(Path(config.hydra.run.dir))
        return 0

    @_or_exit
    def on_multirun_start(self, config: DictConfig) -> int:
        """Check a sweep for unused settings, cells with invalid settings, and missing packages."""
        words, name = list(config.hydra.overrides.task), config.hydra.job.config_name
        every = compose.cells(config, words)
        outcomes: Outcomes
        if every is not None:
            varied = sweeps.varied_settings(every)
            outcomes = list(self.command.cells(every, name))
        elif config.get("objective") is None:
            raise UserError("This sweeper needs objective=METRIC, e.g. experiment=tuning.")
        else:
            swept = [one for one in compose.parse_overrides(words) if one.is_sweep_override()]
            params = config.hydra.sweeper.get("params") or {}
            names = [*params, *(str(one.input_line) for one in swept)]
            varied = tuple(map(sweeps.setting_path, names))
            settings = compose.settings_of(config, config.hydra)
            outcomes = [((), self.command.experiment(settings, swept=True))]
        self._check(outcomes, [word for cell in every or () for word in cell])
        launcher = str(config.hydra.launcher.get("_target_", ""))
        if launcher.endswith("SlurmLauncher") and not shutil.which("srun"):
            raise UserError("hydra/launcher=submitit_slurm needs Slurm, but `srun` was not found.")
        folder = Path(config.hydra.sweep.dir)
        sweeps.refuse_overwriting(folder)
        begun = f"{datetime.now().isoformat()} {os.getpid()}"
        sweep = Sweep(begun, varied, tuple(map(tuple, every or ())), methods_of(outcomes))
        sweeps.write(folder, sweep)
        return 0

    def _check(self, outcomes: Outcomes, words: Sequence[str]) -> None:
        faults = [one for _, one in outcomes if isinstance(one, UserError)]
        for fault in faults:
            if isinstance(fault, MissingPackage) and self.name == "run":
                raise fault
        experiments = [one for _, one in outcomes if isinstance(one, Experiment)]
        if not experiments:
            raise UserError("\n".join([*dict.fromkeys(map(str, faults))][:3]))
        if not faults:
            refuse_unused(words, experiments)
        if (code := self.plan(outcomes)) is not None:
            raise SystemExit(code)


def print_table(folder: Path, datasets: Datasets) -> int:
    """Print the table of the jobs in a folder, and write it there; return the exit code."""
    every = sweeps.cells_below(folder)
    sweep, failed = sweeps.read(folder, Sweep), [cell for cell in every if cell.error]
    if sweep is None and every[0].error and not every[0].runs:
        ended = UserError(every[0].error)
        ended.exit_code = every[0].exit_code
        raise ended
    lines = _best_cell_lines(every, datasets)
    runs, tables, every_column = sweeps.cell_tables(every, datasets)
    for table in tables:
        show(table)
    text = "\n".join(map(FORMATS["markdown"], every_column))
    write_whole(folder / TABLE, text)
    write_whole(folder / sweeps.CSV, FORMATS["csv"](every_column[0]))
    own = [Path(cell.runs[0]) for cell in every if cell.runs]
    for path in dict.fromkeys([*own, *(run.folder.path for run in runs)]):
        write_whole(path / TABLE, text)
        print(f"run: {path}")
    lines += [f"sweep: {folder.resolve()}"] * (sweep is not None)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    problems = [line for cell in every for line in cell.problems]
    problems += [f"{one.name} failed: {one.error}" for one in failed if not one.problems]
    if failed:
        problems.append(f"{len(failed)} failed; repeat the command to retry them")
    sys.stderr.writelines(f"{line}\n" for line in dict.fromkeys(problems))
    return int(bool(problems))


def _best_cell_lines(every: Sequence[Cell], datasets: Datasets) -> list[str]:
    """Return lines on the best cell by the metric `objective`, and mark its run as selected."""
    done = {(cell.runs[0], repr(cell.extent)): cell for cell in reversed(every) if not cell.error}
    ends = [(cell, cell.stored(datasets)[0]) for cell in reversed(done.values())]
    objective = ends[0][1].config["objective"] if ends else None
    if objective is None:
        return []
    row, chosen = best_run([run.metrics for _, run in ends], objective)
    cell, best = ends[row]
    metrics, n, n_equal = best.metrics, chosen["n_configurations"], chosen["n_equal"]
    if n > 1:
        metrics = {**metrics, SELECTED: best.folder.add_selection(chosen)}
    value, split = metrics["metrics"][objective], chosen["split"]
    best_of = f"best of {counted(n, 'configuration')} by {objective} on split={split}"
    interval = f"[{value['low']:.2f}, {value['high']:.2f}], n={value['n']}"
    line = f"{best_of}: {value['mean']:.3f} {interval} {selection_mark(metrics)}".rstrip()
    equal = f"  the same value in {counted(n_equal, 'other configuration')}; the first is selected"
    lines = [line, f"  {best.folder.path}", *[equal] * bool(n_equal)]
    if split == "all":
        return [*lines, "  selected on all questions; with split=dev, split=test stays unseen"]
    words = [word for word in cell.overrides if not word.startswith(("split=", "objective="))]
    if any(word.startswith("experiment=") for word in words):
        words += ["hydra.mode=RUN", "objective=null"]  # the experiment may define the sweep
    command = shlex.join(["graphrag-bench", "run", *words, "split=test"])
    return [*lines, f"to evaluate it on held-out questions:\n  {command}"]
