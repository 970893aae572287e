"""What happens around the jobs of Hydra: checks before them, and one table after them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.config.compose import cells, composed, is_grid, settings_of
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.baseline import differences, result_tables
from graphrag_bench.experiment.session import Session, session
from graphrag_bench.experiment.unused_settings import refuse_unused
from graphrag_bench.report.comparisons import comparison_table
from graphrag_bench.report.rendering import FORMATS, Table, show
from graphrag_bench.report.tables import run_table
from graphrag_bench.runs.folder import RunFolder, write_whole

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
        _or_exit(lambda: session().experiment(settings_of(config, config.hydra), swept=False))

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse a sweep in which every cell is wrong, or which sets what none of them reads."""
        _or_exit(lambda: _refuse_secrets(config))
        for file in _cells_below(config):  # of an earlier command, where the folder is given
            file.unlink()
        _or_exit(lambda: _check_cells(config))

    def on_run_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a run."""
        if session().shown():
            print_results(session(), Path(config.hydra.run.dir))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Print the table of a sweep, whose cells other processes may have run."""
        folder = Path(config.hydra.sweep.dir)
        for file in _cells_below(config):
            _gather(session(), json.loads(file.read_text("utf-8")))
        _or_exit(lambda: print_results(session(), folder))
        print(f"sweep: {folder.resolve()}")  # noqa: T201 - read by scripts


def _cells_below(config: DictConfig) -> list[Path]:
    return sorted(Path(config.hydra.sweep.dir).rglob(CELL))


def _or_exit(work: Callable[[], object]) -> None:
    """Do what may refuse: an exception of a callback would only be a warning of Hydra's."""
    try:
        work()
    except UserError as error:
        sys.stderr.write(f"graphrag-bench run: {error}\n")
        raise SystemExit(error.exit_code) from None


def _refuse_secrets(config: DictConfig) -> None:
    plain: Any = OmegaConf.to_container(config, resolve=False)
    refuse_secrets("", {name: value for name, value in plain.items() if name != "hydra"})


def _check_cells(config: DictConfig) -> None:
    if not is_grid(config) and config.get("objective") is None:
        raise UserError(
            "This sweeper needs objective=METRIC and split=dev, as in experiment=tuning."
        )
    found, errors = [], []
    every = cells(config, config.hydra.overrides.task)
    for overrides in every:
        try:
            values = composed(overrides, name=config.hydra.job.config_name)
            found.append(session().experiment(values, swept=True))
        except UserError as error:
            errors.append(error)
    if not found and errors:
        raise UserError("\n".join(list(dict.fromkeys(map(str, errors)))[:_SHOWN]))
    if not errors and is_grid(config):
        refuse_unused([text for one in every for text in one], found)


def _gather(runs: Session, cell: dict[str, Any]) -> None:
    number = int(cell["number"])
    if number in runs.cells:
        return
    runs.overrides[number] = cell["overrides"]
    if cell["status"] == "failed":
        runs.cells[number] = str(cell["error"])
    else:
        experiment = runs.experiment(cell["settings"], swept=True)
        runs.cells[number] = runs.run(experiment, swept=True)


def print_results(runs: Session, folder: Path) -> None:
    """Print the table of a session's runs, and write it into the folder of the command."""
    results = runs.shown()
    lines = runs.best()
    results = runs.shown() if lines else results
    failed = _failed(runs)
    tables: list[Table] = []
    if results:
        compared = differences(results)
        columns = results[0].experiment.settings.columns
        for table in result_tables(results, compared, columns):
            show(_with(table, failed) if table.heads[:1] == ("method",) else table)
        whole = run_table([result.metrics for result in results])
        tables = [one for one in (whole, comparison_table(compared)) if one]
    elif failed:
        tables = [Table("", ("method", "result"), (), (), ("method", "result"))]
        show(_with(tables[0], failed))
    if tables:
        tables[0] = _with(tables[0], failed)
        text = "\n".join(map(FORMATS["markdown"], tables))
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "table.md", text)
        write_whole(folder / "table.csv", FORMATS["csv"](tables[0]))
    for path in dict.fromkeys(result.folder.path for result in results):
        RunFolder(path).write_table(text)
        print(f"run: {path.resolve()}")  # noqa: T201 - read by scripts
    for line in lines:
        print(line)  # noqa: T201 - the answer to `objective`
    problems = runs.lacking()
    problems += [f"cell {cell} failed: {error}" for cell, error in runs.errors.items()]
    if runs.errors:
        problems.append(f"{len(runs.errors)} failed; the same command runs those again")
    sys.stderr.write("".join(f"{line}\n" for line in problems))


def _failed(runs: Session) -> dict[str, str]:
    """Return the error of each failed cell by the overrides in which it differs from others."""
    every = [set(overrides) for overrides in runs.overrides.values()]
    common = set.intersection(*every) if len(every) > 1 else set()
    return {
        " ".join(one for one in runs.overrides[cell] if one not in common) or f"cell {cell}": error
        for cell, error in runs.errors.items()
    }


def _with(table: Table, failed: Mapping[str, str]) -> Table:
    empty = ("",) * (len(table.heads) - 2)
    rows = tuple((name, "failed", *empty) for name in failed)
    notes = tuple(f"{name} failed: {' '.join(error.split())}" for name, error in failed.items())
    return replace(table, rows=(*table.rows, *rows), notes=(*notes, *table.notes))
