"""Stored sweeps (`sweep.json`) and their cells (`cell.json`). A cell is a job of Hydra."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import comparison_table
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.tables import run_table
from graphrag_bench.run import stored
from graphrag_bench.run.folder import METRICS, TABLE, RunFolder, write_whole
from graphrag_bench.run.scoring import Datasets
from graphrag_bench.run.stored import StoredRun

T = TypeVar("T")
CELL, SWEEP, CSV = "cell.json", "sweep.json", "table.csv"


@dataclass(frozen=True)
class Sweep:
    """A command that runs several cells. `command` is the time and the process id of the command.

    `varied` lists the settings that differ between cells, and `methods` the methods of each data
    set. `cells` has the overrides of each cell, or is () if cells depend on earlier results.
    """

    command: str = ""
    varied: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    methods: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def words(self, overrides: Sequence[str]) -> str:
        """Return the overrides of a cell that differ between cells, without the method."""
        varied = {*self.varied} - {"method"}
        words = (word.lstrip("+") for word in overrides if setting_path(word) in varied)
        return " ".join(word.removeprefix("method.") for word in words)

    def position(self, cell: "Cell") -> str:
        """Return the number and the settings of a cell, e.g. `cell 2 of 8 (BM25 top_k=3)`."""
        of = f" of {len(self.cells)}" if self.cells else ""
        return f"cell {cell.number + 1}{of} ({cell.name})"

    def seconds_left(self, folder: Path) -> float | None:
        """Return the expected seconds until all cells are done, or None if no cell is done yet."""
        n_done = len(_cells(folder, self))
        if not n_done or not self.cells:
            return None
        seconds = datetime.now() - datetime.fromisoformat(self.command.partition(" ")[0])
        return seconds.total_seconds() * (len(self.cells) - n_done) / n_done


@dataclass(frozen=True)
class Cell:
    """A cell of a sweep, or the job of a single run, with its result.

    `runs` are the folders of its run and of the runs of reference methods, and `problems` are
    messages about these runs. `error` is "" for a finished cell.
    """

    command: str
    number: int
    overrides: tuple[str, ...]
    title: str
    varied: str
    status: str = "failed"
    error: str = ""
    exit_code: int = 1
    runs: tuple[str, ...] = ()
    extent: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The method's title, and the values of the settings that differ between cells."""
        return f"{self.title} {self.varied}".strip()

    def stored(self, datasets: Datasets) -> list[StoredRun]:
        """Return the run of the cell, then the runs of the reference methods."""
        runs = [StoredRun(RunFolder(Path(p)), extent=self.extent, read=datasets) for p in self.runs]
        return [replace(runs[0], varied=self.varied), *runs[1:]]


def setting_path(word: str) -> str:
    """Return the path of the setting in an override, e.g. `method.top_k` for `+method.top_k=4`."""
    return word.lstrip("+~").partition("=")[0]


def varied_settings(cells: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the paths of the settings that differ between cells, in the order of the command."""
    words: dict[str, set[str]] = {}
    for word in (word for cell in cells for word in cell):
        words.setdefault(setting_path(word), set()).add(word)
    return tuple(name for name, several in words.items() if len(several) > 1)


def write(folder: Path, value: Sweep | Cell) -> None:
    """Write a sweep to `sweep.json` or a cell to `cell.json`."""
    name = SWEEP if isinstance(value, Sweep) else CELL
    write_whole(folder / name, json.dumps(asdict(value), ensure_ascii=False, default=str) + "\n")


_ADAPTERS: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in (Sweep, Cell)}


def read(folder: Path, kind: type[T]) -> T | None:
    """Return the sweep or the cell (`kind`) stored in a folder, or None if it cannot be read."""
    with suppress(OSError, ValidationError):
        text = (folder / (SWEEP if kind is Sweep else CELL)).read_bytes()
        return cast(T, _ADAPTERS[kind].validate_json(text))
    return None


def cells_below(folder: Path) -> list[Cell]:
    """Return the distinct cells of the last sweep in a folder, or the cell of its single run."""
    if (sweep := read(folder, Sweep)) is None:
        return [cell for cell in [read(folder, Cell)] if cell]
    mine = {one.number: one for one in _cells(folder, sweep)}
    for number, words in enumerate(sweep.cells):
        if number not in mine:
            named = " ".join(word for word in words if setting_path(word) in sweep.varied)
            error = "the job did not finish"
            mine[number] = Cell(sweep.command, number, words, "", named, error=error)
    distinct = {mine[number].overrides: mine[number] for number in sorted(mine, reverse=True)}
    return sorted(distinct.values(), key=lambda cell: cell.number)


def _cells(folder: Path, sweep: Sweep) -> list[Cell]:
    every = (read(file.parent, Cell) for file in folder.rglob(CELL))
    return [cell for cell in every if cell and cell.command == sweep.command]


def table_runs(cells: Sequence[Cell], datasets: Datasets) -> list[StoredRun]:
    """Return the runs of finished cells, then the remaining runs of reference methods."""
    every = [cell.stored(datasets) for cell in cells if not cell.error]
    own = [runs[0] for runs in every]
    references = {run.folder.path: run for runs in every for run in runs[1:]}
    for run in own:
        references.pop(run.folder.path, None)
    return stored.with_one_rule([*own, *references.values()])


def find_runs(names: Sequence[str], home: str | Path) -> list[StoredRun]:
    """Find runs by folder, key prefix or method, and score them by the same rule.

    The folder of a sweep selects the runs of its table. Any other folder selects all runs below it.
    """
    runs: list[StoredRun] = []
    for name in names:
        folder = Path(name)
        found = table_runs(cells_below(folder), {}) if folder.is_dir() else []
        found = found or stored.readable_runs(sorted(folder.glob(f"**/{METRICS}")))
        runs += found or [stored.find_run(name, home)]
    distinct = {(run.folder.path.resolve(), repr(run.extent)): run for run in runs}
    return stored.with_one_rule(list(distinct.values()))


def cell_tables(
    every: Sequence[Cell], datasets: Datasets, columns: str = ""
) -> tuple[list[StoredRun], list[Table], list[Table]]:
    """Return the runs of a sweep, the tables to show, and the tables with all columns."""
    if not (runs := table_runs(every, datasets)):
        heads = ("method", "result")
        alone = [_with_failed_cells(Table("", heads, (), (), heads), every)]
        return runs, alone, alone
    compared, first = stored.stored_differences(runs), runs[0].config
    whole = [_with_failed_cells(run_table([run.metrics for run in runs]), every)]
    columns = columns or first["columns"]
    tables = [
        _with_failed_cells(table, every) if table.heads[0] == "method" else table
        for table in stored.tables_of(runs, compared, columns, first.get("objective"))
    ]
    return runs, tables, [*whole, *filter(None, [comparison_table(compared)])]


def _with_failed_cells(table: Table, every: Sequence[Cell]) -> Table:
    rest, rows = list(table.rows), []
    blank = ("",) * (len(table.heads) - 2)
    for cell in every:
        rows.append((cell.name, "failed", *blank) if cell.error else rest.pop(0))
    notes = [f"{one.name} failed: {' '.join(one.error.split())}" for one in every if one.error]
    return replace(table, rows=(*rows, *rest), notes=(*notes, *table.notes))


def refuse_overwriting(folder: Path) -> None:
    """Raise UserError if `run` would overwrite files in a folder that it did not write."""
    there = [folder / name for name in (CELL, SWEEP, TABLE, CSV) if (folder / name).exists()]
    if there and not read(folder, Sweep) and not read(folder, Cell):
        raise UserError(
            f"{there[0]} exists and was not written by this program. Choose another folder: "
            "hydra.run.dir, or hydra.sweep.dir with -m."
        )
