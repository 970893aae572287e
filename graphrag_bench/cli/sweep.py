"""`graphrag-bench sweep`: the cells of a sweep, and one of them at a time for job arrays."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.cli.parsing import command_parser
from graphrag_bench.cli.plotting import check_figure, take_plot, tell_plot
from graphrag_bench.cli.settings_words import divided
from graphrag_bench.cli.table_words import take_columns
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.report.figures.bars import plot_bars
from graphrag_bench.report.figures.grid import plot_heat
from graphrag_bench.report.figures.of_runs import bars_of, check_metric, heat_of
from graphrag_bench.report.headline import main_metric
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.report.run_tables import shown_tables
from graphrag_bench.runs.stored import find_run
from graphrag_bench.sweeps.baseline import stored_differences
from graphrag_bench.sweeps.cells import Preparing
from graphrag_bench.sweeps.launching import Grid, Results, run_cell
from graphrag_bench.sweeps.manifest import CellRow, Manifest, find_sweep, stored_sweeps
from graphrag_bench.sweeps.tuning import is_tuning

CELL_FAILED = 1
_VERBS = ("list", "show", "run")
_AXES = (
    "of show --plot: the settings of the heat map; needed where a sweep has more than two. A cell "
    "is the mean over the others"
)
_WIDEST_ERROR = 100
_ABOUT = """
A sweep is what `graphrag-bench run -m SETTING=VALUES ...` goes through. Its cells are numbered from
1, and HOME/runs/.sweeps/KEY/manifest.jsonl says of each in which settings it differs, where its run
is, and what became of it: waiting, started (at work, or killed), done, or failed with its error.

Graphs, indices and replies are shared by all cells: the first that needs one builds it, the others
wait. When all cells are done, `run -m` with the same settings prints the table and runs nothing.

example: a job array of 3 cells (Slurm)
  graphrag-bench sweep list dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off
  sbatch --array=1-3 --wrap='graphrag-bench sweep run cell=$SLURM_ARRAY_TASK_ID \\
    dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off'
  graphrag-bench run -m dataset=sample method=hipporag method.damping=0.1,0.3,0.5 answer=off
"""
_ACTIONS = {
    "list SETTINGS": "the cells of these settings, whether the sweep has begun or not",
    "list KEY": "the cells of a sweep that has begun; the beginning of its key is enough",
    "list": "the sweeps of HOME",
    "show KEY": "the table of its runs that are done; --plot draws two settings as a heat map",
    "run cell=N ...": "one cell, with what it needs; exit code 1 when it failed",
}


def main(arguments: Sequence[str]) -> int:
    """Print the cells, or run one; 0, or 1 when it failed."""
    usage = "\n".join((
        "list [SETTING=VALUES ... | KEY | ] [paths.home=HOME]",
        "show KEY [paths.home=HOME] [OPTIONS]",
        "run cell=N SETTING=VALUES ...",
    ))  # fmt: skip
    parser = command_parser("sweep", _ABOUT, usage)
    parser.add_argument("action", metavar="ACTION", help="list, show or run")
    parser.add_argument("words", nargs="*", metavar="WORD", help="settings, as of `run -m`; or KEY")
    parser.flag("--multirun", "taken, and needed by nothing", "-m")
    parser.rows("actions", _ACTIONS.items())
    parser.option("--metric", "NAME", "of show: the main metric; default: that of the table")
    parser.option("--axes", "ROWS,COLUMNS", _AXES)
    take_columns(parser)
    take_plot(parser)
    parser.settings([("cell", "N", None, "the number of the cell that is run")])
    given = parser.read(arguments)
    if given.action not in _VERBS:
        hint = did_you_mean(given.action, _VERBS)
        raise UserError(f"sweep has no '{given.action}'. {hint}")
    if given.action == "show":
        return _show(given)
    if given.plot is not None or given.metric or given.axes:
        raise UserError("--plot, --metric and --axes go with `sweep show KEY`.")
    return _run(given.words, given.cell) if given.action == "run" else _list(given.words)


def _run(words: Sequence[str], cell: str | None) -> int:
    if cell is None:
        raise UserError(
            "sweep run takes one cell=N; graphrag-bench sweep list shows their numbers."
        )
    grid = _grid(words)
    n = len(grid.made)
    if not cell.isdecimal() or not 1 <= int(cell) <= n:
        raise UserError(f"cell={cell}: this sweep has the cells 1 to {n}.")
    number = int(cell)
    manifest = grid.started()
    results: Results = {}
    run_cell(manifest, number, grid.values[number - 1], results, Preparing())
    row = manifest.rows()[number - 1]
    print(f"cell {number} of {n}: {row.status}: {row.said}")  # noqa: T201 - read by scripts
    print(f"run: {(grid.made[0].home / row.run).resolve()}")  # noqa: T201 - read by scripts
    if row.status == "failed":
        sys.stderr.write(f"cell {number} failed: {row.error}\n")
    return CELL_FAILED if row.status == "failed" else 0


def _grid(words: Sequence[str]) -> Grid:
    checked = checked_words(words)
    if is_tuning(checked):
        raise UserError("A sweeper chooses the cells of this sweep as it goes; run it as a whole.")
    return Grid.of(checked)


def _list(words: Sequence[str]) -> int:
    keys, settings = divided(words)
    homes = [word.partition("=")[2] for word in settings if word.startswith("paths.home=")]
    home = Path(homes[-1] if homes else ".")
    if len(keys) > 1 or (keys and len(settings) > len(homes)):
        raise UserError("sweep list takes settings, or the key of a sweep.")
    if keys:
        manifest = find_sweep(home, keys[0])
        show(_cells(manifest, manifest.rows()))
    elif len(settings) == len(homes):
        show(_sweeps(home))
    else:
        grid = _grid(settings)
        show(_cells(grid.manifest, grid.manifest.merged(grid.rows)))
    return 0


def _show(given: argparse.Namespace) -> int:
    check_figure(given)
    keys, settings = divided(given.words)
    homes = [word.partition("=")[2] for word in settings if word.startswith("paths.home=")]
    if len(keys) != 1 or len(settings) > len(homes):
        raise UserError("sweep show takes the key of a sweep; graphrag-bench sweep list shows it.")
    home = Path(homes[-1] if homes else ".")
    manifest = find_sweep(home, keys[0])
    cells = [row for row in manifest.rows() if row.status == "done"]
    stored = {row.run: find_run(str(home / row.run), home) for row in cells}
    if not stored:
        raise UserError(f"sweep {manifest.folder.name} has no cell that is done.")
    runs = [run.metrics for run in stored.values()]
    scoring = next(iter(stored.values())).evaluation
    metric = main_metric(runs, given.metric or next(iter(scoring.compared), None))
    check_metric(runs, metric)
    found = stored_differences(list(stored.values()))
    for table in shown_tables(
        runs, found, columns=given.columns, metric=metric, baseline=scoring.baseline
    ):
        show(table)
    if given.plot is not None:
        _plot(given, [(row.settings, stored[row.run].metrics) for row in cells], metric)
    return 0


def _plot(
    given: argparse.Namespace,
    cells: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]],
    metric: str,
) -> None:
    values: dict[str, dict[str, None]] = {}
    for settings, _ in cells:
        for name, value in settings.items():
            values.setdefault(name, {})[value] = None
    swept = [name for name, held in values.items() if len(held) > 1]
    if given.axes:
        axes = [_axis(name, list(values)) for name in given.axes.split(",")]
        if len(axes) != 2:
            raise UserError(f"--axes {given.axes}: two settings of the sweep, ROWS,COLUMNS.")
    elif len(swept) > 2:
        raise UserError(f"--plot: this sweep has {len(swept)} settings ({', '.join(swept)}); "
                        "--axes ROWS,COLUMNS names two of them.")  # fmt: skip
    else:
        axes = swept
    if len(axes) == 2:
        plot_heat(given.plot, heat_of(cells, axes[0], axes[1], metric), span=given.span)
    else:
        runs = list({str(run["key"]): run for _, run in cells}.values())
        plot_bars(given.plot, bars_of(runs, metric), metric, span=given.span)
    tell_plot(given.plot)


def _axis(name: str, known: Sequence[str]) -> str:
    for path in (name, f"method.{name}"):
        if path in known:
            return path
    raise unknown("setting", name, known)


def _cells(manifest: Manifest, rows: Sequence[CellRow]) -> Table:
    heads = ("cell", "settings", "status", "run", "error")
    cells = tuple(
        (
            str(row.cell),
            row.said or "(as they are)",
            f"same as {row.same_as}" if row.same_as else _status(row),
            row.run,
            " ".join(row.error.split())[:_WIDEST_ERROR],
        )
        for row in rows
    )
    counts = {status: sum(row.status == status for row in rows) for status in _STATUSES}
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return Table(f"sweep {manifest.folder.name}: {said or 'no cells'}", heads, cells, (), heads[1:])


_STATUSES = ("done", "started", "waiting", "failed")


def _status(row: CellRow) -> str:
    return f"{row.status}, {row.n_failed} questions failed" if row.n_failed else row.status


def _sweeps(home: Path) -> Table:
    rows = []
    for manifest in stored_sweeps(home):
        held = manifest.rows()
        counts = [str(sum(row.status == status for row in held)) for status in _STATUSES]
        rows.append((manifest.folder.name, str(len(held)), *counts, " ".join(manifest.settings)))
    heads = ("sweep", "cells", *_STATUSES, "settings")
    return Table(f"sweeps below {home}", heads, tuple(rows), (), ("sweep", "settings"))
