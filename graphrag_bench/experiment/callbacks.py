"""What happens around the jobs of Hydra: checks before them, and one table after them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from graphrag_bench.config.compose import cells, settings_of
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.baseline import differences, result_tables
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.session import Cell, Session, session
from graphrag_bench.experiment.unused_settings import refuse_unused
from graphrag_bench.report.comparisons import comparison_table
from graphrag_bench.report.rendering import FORMATS, Table, show
from graphrag_bench.report.tables import run_table
from graphrag_bench.runs.folder import TABLE, write_whole

CELL = "cell.json"
"""The file of a job's folder that says what became of it: its status, error and run folders."""
_SHOWN = 3
"""Different errors that are shown of a sweep in which every cell is wrong."""


class Results(Callback):
    """Check what a command asks for before its first job, and print one table after its last.

    The folder of the command gets `table.md` and `table.csv`. A failed cell of a sweep is a row
    that says so.
    """

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a run that is wrong before Hydra writes down what may hold a secret."""
        _or_exit(lambda: _check_run(config))

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a sweep in which every cell is wrong, or which sets what none of them reads."""
        _or_exit(lambda: _check_cells(config))
        for file in _cell_files(config):  # of an earlier command, where the folder is given
            file.unlink()

    def on_run_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a run."""
        if session().shown():
            print_results(session(), Path(config.hydra.run.dir))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a sweep, whose cells other processes may have run."""
        folder = Path(config.hydra.sweep.dir)
        for file in _cell_files(config):
            _gather(session(), json.loads(file.read_text("utf-8")))
        _or_exit(lambda: print_results(session(), folder))
        print(f"sweep: {folder.resolve()}")  # noqa: T201 - read by scripts


def _cell_files(config: DictConfig) -> list[Path]:
    return sorted(Path(config.hydra.sweep.dir).rglob(CELL))


def _or_exit(work: Callable[[], object]) -> None:
    """Do what may refuse: an exception of a callback would only be a warning of Hydra's."""
    try:
        work()
    except UserError as error:
        sys.stderr.write(f"graphrag-bench run: {error}\n")
        raise SystemExit(error.exit_code) from None


def _check_run(config: DictConfig) -> None:
    experiment = session().experiment(settings_of(config, config.hydra), swept=False)
    if experiment.settings.objective is not None:
        raise UserError("objective names the best cell of a sweep: use it with -m.")
    refuse_unused(config.hydra.overrides.task, [experiment])


def _check_cells(config: DictConfig) -> None:
    words = config.hydra.overrides.task
    every = cells(config, words)
    if every is None:
        if config.get("objective") is None:
            raise UserError(
                "This sweeper needs objective=METRIC and split=dev, as in experiment=tuning."
            )
        session().experiment(settings_of(config, config.hydra), swept=True)
        return
    outcomes = [one for _, one in session().prepared(every, config.hydra.job.config_name)]
    experiments = [one for one in outcomes if isinstance(one, Experiment)]
    if not experiments:
        raise UserError("\n".join(list(dict.fromkeys(map(str, outcomes)))[:_SHOWN]))
    if len(experiments) == len(outcomes):
        refuse_unused([word for cell in every for word in cell], experiments)


def _gather(runs: Session, cell: dict[str, Any]) -> None:
    number = int(cell["number"])
    if number in runs.cells:
        return
    result = None
    if cell["status"] == "done":
        result = runs.run(runs.experiment(cell["settings"], swept=True))
    runs.cells[number] = Cell(cell["overrides"], result, str(cell.get("error", "")))


def print_results(runs: Session, folder: Path) -> None:
    """Print the table of a session's runs, and write it into the folder of the command."""
    lines = runs.best()
    results = runs.shown()
    tables: list[Table] = []
    if results:
        compared = differences(results)
        columns = results[0].experiment.settings.columns
        for table in result_tables(results, compared, columns):
            show(_with_failed(table, runs) if table.heads[:1] == ("method",) else table)
        whole = run_table([result.metrics for result in results])
        tables = [one for one in (whole, comparison_table(compared)) if one]
    elif runs.errors:
        tables = [Table("", ("method", "result"), (), (), ("method", "result"))]
        show(_with_failed(tables[0], runs))
    if tables:
        tables[0] = _with_failed(tables[0], runs)
        text = "\n".join(map(FORMATS["markdown"], tables))
        write_whole(folder / TABLE, text)
        write_whole(folder / "table.csv", FORMATS["csv"](tables[0]))
    for path in dict.fromkeys(result.folder.path for result in results):
        write_whole(path / TABLE, text)
        print(f"run: {path.resolve()}")  # noqa: T201 - read by scripts
    for line in lines:
        print(line)  # noqa: T201 - the answer to `objective`
    problems = runs.lacking()
    problems += [f"cell {cell} failed: {error}" for cell, error in runs.errors.items()]
    if runs.errors:
        problems.append(f"{len(runs.errors)} failed; the same command runs those again")
    sys.stderr.write("".join(f"{line}\n" for line in problems))


def _with_failed(table: Table, runs: Session) -> Table:
    """A table with a row for each failed cell, named by the overrides that others do not have."""
    every = [set(cell.overrides) for cell in runs.cells.values()]
    common = set.intersection(*every) if len(every) > 1 else set()
    failed = {
        " ".join(one for one in runs.cells[cell].overrides if one not in common)
        or f"cell {cell}": " ".join(error.split())
        for cell, error in runs.errors.items()
    }
    rows = tuple((name, "failed", *[""] * (len(table.heads) - 2)) for name in failed)
    notes = tuple(f"{name} failed: {error}" for name, error in failed.items())
    return replace(table, rows=(*table.rows, *rows), notes=(*notes, *table.notes))
